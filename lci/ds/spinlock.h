#ifndef LCI_DS_SPINLOCK_H_
#define LCI_DS_SPINLOCK_H_

#include <atomic>

#include "lci/ds/atomics.h"

namespace lci::ds {

// A lock of one byte for critical sections of a few dozen instructions. Works with std::lock_guard
// and std::unique_lock. Not fair: under contention the thread that has the cache line tends to keep
// it, which is what makes short sections fast.
//
// Thread safety: any thread at any time; not recursive. try_lock is wait-free, lock is blocking
// (pauses, then yields), unlock is wait-free.
//
// Invariants
//   1. At most one thread is between a successful lock or try_lock and its unlock.
//   2. Everything written before an unlock is visible after the next lock:
//      A1, the release in unlock, pairs with A2, the acquire in try_lock.
template <class Atomics>
class basic_spinlock {
 public:
  basic_spinlock() = default;
  basic_spinlock(const basic_spinlock&) = delete;
  basic_spinlock& operator=(const basic_spinlock&) = delete;

  bool try_lock() {
    // The load first: a failed attempt then leaves the cache line shared.
    return !locked_.load(std::memory_order_relaxed) &&
           !locked_.exchange(true, std::memory_order_acquire);  // A2
  }

  void lock() {
    if (!locked_.exchange(true, std::memory_order_acquire)) return;  // A2, uncontended
    wait();
  }

  // What was written before the unlock is visible to a thread that finds it unlocked.
  bool is_locked() const { return locked_.load(std::memory_order_acquire); }

  void unlock() { locked_.store(false, std::memory_order_release); }  // A1

 private:
  // Out of line, so that a thread that need not wait makes no call.
  __attribute__((noinline)) void wait() {
    typename Atomics::backoff backoff;
    while (!try_lock()) backoff.idle();
  }

  typename Atomics::template atomic<bool> locked_{false};
};

using spinlock = basic_spinlock<std_atomics>;

}  // namespace lci::ds

#endif  // LCI_DS_SPINLOCK_H_
