#include "lci/runtime/backlog.h"

#include <cstring>
#include <mutex>

#include "lci/runtime/device.h"

namespace lci::rt {

void backlog::push(const net::op& operation, continuation* then) {
  entry waiting{operation, {}, then};
  if (operation.header_size > 0) {
    std::memcpy(waiting.header, operation.header, operation.header_size);
  }
  std::lock_guard<ds::spinlock> guard(lock_);
  entries_.push_back(waiting);
  size_.store(entries_.size(), std::memory_order_relaxed);
}

bool backlog::pop(entry* out) {
  std::lock_guard<ds::spinlock> guard(lock_);
  if (entries_.empty()) return false;
  *out = entries_.front();
  entries_.pop_front();
  size_.store(entries_.size(), std::memory_order_relaxed);
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
      push(waiting.operation, waiting.then);
    } else {
      moved = true;
    }
  }
  return moved;
}

}  // namespace lci::rt
