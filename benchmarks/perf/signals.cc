#include "benchmarks/perf/signals.h"

#include <array>
#include <stdexcept>

#include "absl/strings/str_cat.h"

namespace perf {
namespace {

// Maps the tag of a message to the object that the handler uses.
std::array<std::atomic<signals*>, signals::max_numbers> by_number;

// A value that no other thread has meanwhile.
const void* this_thread() {
  thread_local char here;
  return &here;
}

// Off the way of a message: what makes texts needs a larger frame.
[[noreturn, gnu::noinline, gnu::cold]] void report(const lci::status_t& failed) {
  throw std::runtime_error(absl::StrCat("an operation of ", failed.size, " bytes with rank ",
                                        failed.rank, " failed; the log says why"));
}

}  // namespace

inline void signals::look_at(const lci::status_t& status) {
  if (__builtin_expect(status.error.errorcode == lci::errorcode_t::fatal, 0)) report(status);
  if (sink_ != nullptr) sink_->take(status);
}

[[gnu::always_inline]] inline void signals::count(const lci::status_t& status) {
  look_at(status);
  if (__builtin_expect(owner_.load(std::memory_order_relaxed) == this_thread(), 1)) {
    ++counted_;
    return;
  }
  // Release pairs with the acquire in round_is_over: who sees the count may look at the message.
  counted_elsewhere_.fetch_add(1, std::memory_order_release);
}

// A counter that shows its messages to the sink, which the library's does not.
class signals::showing_counter final : public lci::comp_impl_t {
 public:
  explicit showing_counter(signals* owner) : owner_(owner) { attr.lend_am = true; }
  void signal(lci::status_t status) override { owner_->count(status); }

 private:
  signals* const owner_;
};

signals::signals(lci::runtime_t runtime, completion_kind kind, buffer_kind buffers, int per_round,
                 message_sink* sink, int number)
    : kind_(kind), per_round_(per_round), sink_(sink) {
  if (number != no_number) {
    by_number[static_cast<size_t>(number)].store(this, std::memory_order_release);
  }
  const bool in_packets = buffers == buffer_kind::packet;
  switch (kind) {
    case completion_kind::queue:
      comp_ = lci::alloc_cq_x().zero_copy_am(in_packets).runtime(runtime)();
      break;
    case completion_kind::handler:
      comp_ = lci::alloc_handler_x(on_signal).lend_am(true).runtime(runtime)();
      break;
    case completion_kind::counter:
      is_own_ = sink != nullptr;
      comp_ = is_own_ ? lci::comp_t(new showing_counter(this))
                      : lci::alloc_counter_x().runtime(runtime)();
      break;
    case completion_kind::sync:
      statuses_.resize(static_cast<size_t>(per_round));
      comp_ = lci::alloc_sync_x().zero_copy_am(in_packets).runtime(runtime).threshold(per_round)();
      break;
    case completion_kind::signal:  // see planned_batches
      throw std::logic_error("signals are of plans");
  }
}

signals::~signals() {
  if (is_own_) {
    delete comp_.p_impl;
  } else {
    lci::free_comp(&comp_);
  }
}

void signals::wait_here() { owner_.store(this_thread(), std::memory_order_relaxed); }

void signals::on_signal(lci::status_t status) {
  auto* target = static_cast<signals*>(status.user_context);
  if (target == nullptr) {
    target = by_number[(status.tag & 0xffff) % max_numbers].load(std::memory_order_acquire);
  }
  target->count(status);
}

bool signals::other_round_is_over() {
  switch (kind_) {
    case completion_kind::queue:
      while (popped_ + done_ < per_round_) {
        const lci::status_t status = lci::cq_pop(comp_);
        if (status.is_retry()) return false;
        look_at(status);
        ++popped_;
      }
      popped_ = 0;
      break;
    case completion_kind::handler:
    case completion_kind::counter:
      return all_are_counted(is_own_ ? counted() : lci::counter_get(comp_));
    case completion_kind::sync:
      if (!lci::sync_test(comp_, statuses_.data())) return false;
      for (const lci::status_t& status : statuses_) look_at(status);
      break;
    case completion_kind::signal:
      break;
  }
  done_ = 0;
  return true;
}

}  // namespace perf
