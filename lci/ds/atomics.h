// The operations through which the structures of this directory use the machine. They are a
// template parameter, so that a test can run the structures under its own scheduler.
#ifndef LCI_DS_ATOMICS_H_
#define LCI_DS_ATOMICS_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "lci/base/backoff.h"
#include "lci/base/process_barrier.h"
#include "lci/base/thread_number.h"
#include "lci/ds/wide_atomic.h"

namespace lci::ds {

// Distance between lines that different threads write (x86 fetches pairs of lines).
constexpr size_t contention_distance = 128;

// The policy of every build except such tests. A structure is a template over a type with these
// members and has no other way to share memory or to wait:
//   atomic<U>   std::atomic's constructors, load, store, exchange, compare_exchange_weak and
//               _strong, fetch_add, fetch_sub, fetch_or and fetch_and, with the orders that the
//               structure's comments argue. No fences, as the thread sanitizer does not see them
//               (except for the next two, which hand over no ordinary memory).
//   process_barrier(), light_barrier()  an asymmetric fence. Two threads each write an atomic and
//               then read the other's. One of them sees the other's write if one thread has
//               process_barrier() in between and the other has light_barrier(), which costs
//               nothing. Two light barriers order nothing. process_barrier() returns how long it
//               took, as std::chrono::nanoseconds.
//   has_process_barrier()  if false, process_barrier() must not be called
//   wide_atomic two words that are compared and exchanged together: see wide_atomic.h; needed only
//               by structures that use it
//   pause()     one round of a loop that waits briefly for another thread
//   backoff     a loop that may wait for long: idle() after an unsuccessful round, reset() after
//               a successful one
//   exponential_backoff  lost() is called after each race that an operation loses
//   thread_number()  as base::thread_number()
//   known_thread_number()  as thread_number(), without a call; UINT32_MAX, which is no thread's
//               number, if the thread has none yet
//   plain_read(p, n), plain_write(p, n)  mark a read or write of ordinary memory that atomics or a
//               lock hand from thread to thread
// Locks are basic_spinlock<Atomics>, never std::mutex, as a scheduler cannot control a thread that
// blocks in the kernel.
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
  static std::chrono::nanoseconds process_barrier() { return base::process_barrier(); }
  static void light_barrier() { std::atomic_signal_fence(std::memory_order_seq_cst); }
  static void plain_read(const void*, size_t) {}
  static void plain_write(const void*, size_t) {}
};

}  // namespace lci::ds

#endif  // LCI_DS_ATOMICS_H_
