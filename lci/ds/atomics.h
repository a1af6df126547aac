// What the structures of this directory use of the machine, as a parameter, so that a test can run
// them under a scheduler of its own.
#ifndef LCI_DS_ATOMICS_H_
#define LCI_DS_ATOMICS_H_

#include <atomic>

#include "lci/base/backoff.h"

namespace lci::ds {

// The policy of every build but such tests. A structure is a template over a type with these
// members and has no other way to share memory or to wait:
//   atomic<U>   std::atomic's constructors, load, store, exchange, compare_exchange_weak and
//               _strong, fetch_add, fetch_sub, fetch_or and fetch_and, with the orders that the
//               structure's comments argue. No fences: the thread sanitizer does not see them.
//   pause()     one round of a loop that waits a moment for another thread
//   backoff     a loop that may wait for long: idle() after a round in vain, reset() after another
// Locks are basic_spinlock<Atomics>, never a std::mutex, since a thread that blocks in the kernel
// is out of a scheduler's reach.
struct std_atomics {
  template <class U>
  using atomic = std::atomic<U>;
  using backoff = base::backoff;
  static void pause() { base::cpu_pause(); }
};

}  // namespace lci::ds

#endif  // LCI_DS_ATOMICS_H_
