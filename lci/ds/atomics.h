// What the structures of this directory use of the machine, as a parameter, so that a test can run
// them under a scheduler of its own.
#ifndef LCI_DS_ATOMICS_H_
#define LCI_DS_ATOMICS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "lci/base/backoff.h"
#include "lci/base/process_barrier.h"
#include "lci/base/thread_number.h"
#include "lci/ds/wide_atomic.h"

namespace lci::ds {

// Lines that are written by different threads are kept this far apart (x86 fetches pairs of lines).
constexpr size_t contention_distance = 128;

// The policy of every build but such tests. A structure is a template over a type with these
// members and has no other way to share memory or to wait:
//   atomic<U>   std::atomic's constructors, load, store, exchange, compare_exchange_weak and
//               _strong, fetch_add, fetch_sub, fetch_or and fetch_and, with the orders that the
//               structure's comments argue. No fences: the thread sanitizer does not see them.
//               (But for the next, which hand over no ordinary memory.)
//   process_barrier(), light_barrier()  an asymmetric fence: where two threads each write an atomic
//               and then read the other's, one of them sees the other's write if one has
//               process_barrier() between the two and the other light_barrier(), which costs
//               nothing. Two light barriers order nothing.
//   has_process_barrier()  if not, process_barrier() isn't called
//   wide_atomic two words that are compared and exchanged together: see wide_atomic.h; needed only
//               where a structure is asked for that uses it
//   pause()     one round of a loop that waits a moment for another thread
//   backoff     a loop that may wait for long: idle() after a round in vain, reset() after another
//   exponential_backoff  what an operation does with each race that it loses: lost()
//   thread_number()  base::thread_number's promises
//   known_thread_number()  the same, without a call, and no thread's number (UINT32_MAX) if the
//               thread has none yet
//   plain_read(p, n), plain_write(p, n)  say that ordinary memory, which atomics or a lock hand
//               from thread to thread, is read or written
// Locks are basic_spinlock<Atomics>, never a std::mutex, since a thread that blocks in the kernel
// is out of a scheduler's reach.
struct std_atomics {
  template <class U>
  using atomic = std::atomic<U>;
#ifdef LCI_DS_HAS_WIDE_ATOMIC
  using wide_atomic = ds::wide_atomic;
#endif
  using backoff = base::backoff;
  using exponential_backoff = base::exponential_backoff;
  static void pause() { base::cpu_pause(); }
  static uint32_t thread_number() { return base::thread_number(); }
  static uint32_t known_thread_number() { return base::internal::this_thread_number; }
  static bool has_process_barrier() { return base::has_process_barrier(); }
  static void process_barrier() { base::process_barrier(); }
  static void light_barrier() { std::atomic_signal_fence(std::memory_order_seq_cst); }
  static void plain_read(const void*, size_t) {}
  static void plain_write(const void*, size_t) {}
};

}  // namespace lci::ds

#endif  // LCI_DS_ATOMICS_H_
