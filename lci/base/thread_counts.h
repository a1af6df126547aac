// A count to which many threads add.
#ifndef LCI_BASE_THREAD_COUNTS_H_
#define LCI_BASE_THREAD_COUNTS_H_

#include <atomic>
#include <cstdint>

#include "lci/base/thread_number.h"

namespace lci::base {

// Each thread adds to a slot of its own, with plain loads and stores: threads that add all the time
// do not wait for each other's cache lines. Threads whose numbers are equal modulo the number of
// slots share one, and may lose counts.
//
// Thread safety: all members by any thread at any time; wait-free.
class thread_counts {
 public:
  static constexpr uint32_t slots = 16;

  // Returns the new count of the calling thread's slot. (A thread without a number uses the last
  // slot: no call, which would make the callers save their registers.)
  uint32_t add() {
    std::atomic<uint32_t>& count = slots_[internal::this_thread_number % slots].count;
    const uint32_t next = count.load(std::memory_order_relaxed) + 1;
    count.store(next, std::memory_order_relaxed);
    return next;
  }

  // Of all slots, modulo 2^32. Reads many lines.
  uint32_t sum() const {
    uint32_t all = 0;
    for (const slot& each : slots_) all += each.count.load(std::memory_order_relaxed);
    return all;
  }

 private:
  struct alignas(64) slot {
    std::atomic<uint32_t> count{0};
  };
  slot slots_[slots];
};

}  // namespace lci::base

#endif  // LCI_BASE_THREAD_COUNTS_H_
