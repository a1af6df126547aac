#include "lci/runtime/backlog.h"

#include <cstring>
#include <mutex>

#include "lci/runtime/device.h"

namespace lci::rt {

void backlog::push(const net::op& operation, continuation* then) {
  pushed_.fetch_add(1, std::memory_order_relaxed);
  append(operation, then);
}

void backlog::append(const net::op& operation, continuation* then) {
  entry waiting{operation, {}, then};
  if (operation.header_size > 0) {
    std::memcpy(waiting.header, operation.header, operation.header_size);
  }
  {
    const std::lock_guard<ds::spinlock> guard(lock_);
    const size_t n = size_.load(std::memory_order_relaxed);
    if (n == entries_.size()) grow();
    entries_[(first_ + n) % entries_.size()] = waiting;
    size_.store(n + 1, std::memory_order_relaxed);
  }
  if (sleeper_ != nullptr) sleeper_->wake();
}

void backlog::grow() {
  base::aligned_vector<entry> larger(entries_.empty() ? 16 : 2 * entries_.size());
  for (size_t i = 0; i < entries_.size(); ++i) {
    larger[i] = entries_[(first_ + i) % entries_.size()];
  }
  entries_.swap(larger);
  first_ = 0;
}

bool backlog::pop(entry* out) {
  std::lock_guard<ds::spinlock> guard(lock_);
  const size_t n = size_.load(std::memory_order_relaxed);
  if (n == 0) return false;
  *out = entries_[first_];
  first_ = (first_ + 1) % entries_.size();
  size_.store(n - 1, std::memory_order_relaxed);
  return true;
}

bool backlog::drain(device_impl_t& device) {
  bool moved = false;
  entry waiting;
  // The lock is not held while posting: a continuation may push.
  for (int i = 0; i < max_posts_per_drain && pop(&waiting); ++i) {
    waiting.operation.header = waiting.header;
    const error_t result = device.try_submit(waiting.operation, waiting.then);
    if (result.is_retry()) {
      append(waiting.operation, waiting.then);
    } else {
      moved = true;
    }
  }
  return moved;
}

}  // namespace lci::rt
