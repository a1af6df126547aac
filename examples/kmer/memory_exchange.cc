#include "examples/kmer/memory_exchange.h"

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

namespace kmer {

class memory_network::endpoint final : public exchange {
 public:
  endpoint(memory_network* network, int rank, unsigned seed)
      : network_(network), rank_(rank), random_(seed) {}

  int rank() const override { return rank_; }
  int ranks() const override { return static_cast<int>(network_->ranks_.size()); }

  bool try_send(int, int to, uint64_t tag, message_buffer* buffer, size_t size) override {
    check();
    if (chance(4)) return false;
    message sent;
    sent.rank = rank_;
    sent.tag = tag;
    sent.size = size;
    sent.bytes.reset(static_cast<char*>(std::malloc(size)));
    std::memcpy(sent.bytes.get(), buffer->get(), size);
    if (chance(3)) {
      const std::lock_guard<std::mutex> lock(mutex_);
      taken_.push_back(std::move(*buffer));
      ++unfinished_;
    }
    network_->ranks_[static_cast<size_t>(to)]->accept(std::move(sent));
    return true;
  }

  int64_t unfinished() const override { return unfinished_; }

  bool progress(int) override {
    const bool moved = progress_once();
    if (!moved) std::this_thread::yield();  // as the library's does, now and then
    return moved;
  }

  bool receive(message* into) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (arrived_.empty()) return false;
    *into = std::move(arrived_.back());
    arrived_.pop_back();
    return true;
  }

  void sum(uint64_t* values, size_t count) override {
    check();
    memory_network& all = *network_;
    std::unique_lock<std::mutex> lock(all.mutex_);
    const uint64_t round = all.round_;
    all.partial_.resize(count);
    for (size_t i = 0; i < count; ++i) all.partial_[i] += values[i];
    if (++all.arrived_ == ranks()) {
      all.arrived_ = 0;
      all.result_ = std::exchange(all.partial_, {});
      ++all.round_;
      all.changed_.notify_all();
    }
    all.changed_.wait(lock, [&] { return all.round_ != round || cut_off_; });
    if (all.round_ == round) check();
    std::copy(all.result_.begin(), all.result_.end(), values);
  }

  void cut_off() { cut_off_ = true; }

 private:
  bool progress_once() {
    check();
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!taken_.empty()) {
      taken_.pop_back();
      --unfinished_;
      return true;
    }
    if (under_way_.empty()) return false;
    // One message, any of them.
    std::swap(under_way_[random_() % under_way_.size()], under_way_.back());
    arrived_.push_back(std::move(under_way_.back()));
    under_way_.pop_back();
    return true;
  }

  void check() const {
    if (cut_off_) throw network_error("cut off");
  }
  bool chance(unsigned one_in) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return random_() % one_in == 0;
  }
  void accept(message arrived) {
    const std::lock_guard<std::mutex> lock(mutex_);
    under_way_.push_back(std::move(arrived));
  }

  memory_network* const network_;
  const int rank_;
  std::mutex mutex_;
  std::mt19937 random_;
  std::vector<message> under_way_;
  std::vector<message> arrived_;
  std::vector<message_buffer> taken_;
  std::atomic<int64_t> unfinished_{0};
  std::atomic<bool> cut_off_{false};
};

memory_network::memory_network(int ranks, unsigned seed) {
  for (int r = 0; r < ranks; ++r) {
    ranks_.push_back(std::make_unique<endpoint>(this, r, seed + static_cast<unsigned>(r)));
  }
}

memory_network::~memory_network() = default;

void memory_network::run(const std::function<void(exchange*)>& body) {
  std::vector<std::thread> threads;
  for (const std::unique_ptr<endpoint>& one : ranks_) {
    threads.emplace_back([&body, &one] { body(one.get()); });
  }
  for (std::thread& thread : threads) thread.join();
}

void memory_network::cut_off(int r) {
  ranks_[static_cast<size_t>(r)]->cut_off();
  const std::lock_guard<std::mutex> lock(mutex_);
  changed_.notify_all();
}

}  // namespace kmer
