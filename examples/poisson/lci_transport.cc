#include "examples/poisson/lci_transport.h"

#include <vector>

#include "lci.hpp"

namespace poisson {
namespace {

// The common part of both transports: memory that peers may write.
class lci_transport : public transport {
 public:
  ~lci_transport() override {
    barrier();  // nobody writes to it any more
    for (lci::mr_t& each : regions_) lci::free_mr(&each);
  }
  int rank() const override { return lci::get_rank_me(); }
  int ranks() const override { return lci::get_rank_n(); }
  int allocate(size_t bytes) override {
    regions_.push_back(lci::alloc_mr(bytes));
    return static_cast<int>(regions_.size()) - 1;
  }
  char* address(int region) const override {
    return static_cast<char*>(lci::get_mr_address(region_at(region)));
  }
  void barrier() override { lci::barrier(); }
  double maximum(double value) override {
    double largest = 0;
    // NaN compares as larger.
    const lci::reduce_op_t larger = [](const void* left, const void* right, void* out, size_t n) {
      const auto* const a = static_cast<const double*>(left);
      const auto* const b = static_cast<const double*>(right);
      for (size_t i = 0; i < n; ++i) static_cast<double*>(out)[i] = a[i] <= b[i] ? b[i] : a[i];
    };
    lci::allreduce(&value, &largest, 1, sizeof(double), larger);
    return largest;
  }

 protected:
  lci::mr_t region_at(int region) const { return regions_.at(static_cast<size_t>(region)); }
  int next_exchange() { return exchanges_++; }

 private:
  std::vector<lci::mr_t> regions_;
  int exchanges_ = 0;
};

// Of message `tag` of the n-th exchange.
lci::tag_t tag_of(int exchange, int tag) { return static_cast<lci::tag_t>(exchange * 16 + tag); }

// Send and receive.

class message_exchange final : public packing_exchange {
 public:
  message_exchange(const pattern& messages, const transport& owner, work_clock& clock, int number)
      : packing_exchange(messages, owner, clock),
        number_(number),
        count_(static_cast<int>(messages.sends.size() + messages.receives.size())) {
    if (count_ > 0) over_ = lci::alloc_sync_x().threshold(count_)();
  }
  ~message_exchange() override {
    if (count_ > 0) lci::free_comp(&over_);
  }

 private:
  void send() override {
    for (const packed& each : receives()) {
      post(lci::post_recv_x(each.peer, incoming() + each.offset, each.size,
                            tag_of(number_, each.tag), over_));
    }
    for (const packed& each : sends()) {
      post(lci::post_send_x(each.peer, outgoing() + each.offset, each.size,
                            tag_of(number_, each.tag), over_));
    }
  }
  void receive() override {
    if (count_ > 0) lci::sync_wait(over_, nullptr);
  }

  template <class Post>
  void post(Post&& once) {
    once.allow_done(false);  // all of them are waited for together
    while (once().is_retry()) lci::progress();
  }

  const int number_;
  const int count_;
  lci::comp_t over_;
};

class message_transport final : public lci_transport {
 public:
  std::unique_ptr<exchange> connect(const pattern& messages, work_clock& clock) override {
    return std::make_unique<message_exchange>(messages, *this, clock, next_exchange());
  }
};

// Plans and signals.

lci::layout_t layout_of(const layout& from) {
  return {from.offset, from.length, from.count, from.stride, from.count2, from.stride2};
}

class planned_exchange final : public exchange {
 public:
  // Collective.
  template <class RegionAt>
  planned_exchange(const pattern& messages, RegionAt region_at, work_clock& clock, int number)
      : clock_(clock) {
    if (!messages.receives.empty()) {
      arrived_ = lci::alloc_signal(static_cast<int64_t>(messages.receives.size()));
    }
    for (const message& each : messages.receives) {
      lci::convert_recv(region_at(each.region), layout_of(each.bytes), each.peer,
                        tag_of(number, each.tag), arrived_);
    }
    if (!messages.sends.empty()) plan_ = lci::alloc_plan();
    for (const message& each : messages.sends) {
      lci::convert_send(plan_, region_at(each.region), layout_of(each.bytes), each.peer,
                        tag_of(number, each.tag), lci::COMP_NULL);
    }
  }
  ~planned_exchange() override {
    if (!plan_.is_empty()) {
      finish();
      lci::free_plan(&plan_);
    }
    if (!arrived_.is_empty()) lci::free_comp(&arrived_);
  }

  void start() override {
    if (plan_.is_empty()) return;
    const work before = clock_.enter(work::transfer);
    // Every receiver has answered to the last round, so that it is over but for this rank's part.
    finish();
    lci::plan_start(plan_);
    clock_.enter(before);
  }
  void wait() override {
    if (arrived_.is_empty()) return;
    const work before = clock_.enter(work::wait);
    lci::signal_wait(arrived_);
    lci::signal_reset(arrived_);  // before the peers hear anything that lets them send again
    clock_.enter(before);
  }

 private:
  void finish() {
    while (!lci::plan_test(plan_)) lci::progress();
  }

  work_clock& clock_;
  lci::comp_t arrived_;
  lci::plan_t plan_;
};

class notified_transport final : public lci_transport {
 public:
  std::unique_ptr<exchange> connect(const pattern& messages, work_clock& clock) override {
    return std::make_unique<planned_exchange>(
        messages, [this](int region) { return region_at(region); }, clock, next_exchange());
  }
};

}  // namespace

std::unique_ptr<transport> make_message_transport() {
  return std::make_unique<message_transport>();
}

std::unique_ptr<transport> make_notified_transport() {
  return std::make_unique<notified_transport>();
}

}  // namespace poisson
