#ifndef LCI_DS_LOCK_BYPASS_H_
#define LCI_DS_LOCK_BYPASS_H_

#include <cstdint>
#include <mutex>

#include "lci/ds/atomics.h"
#include "lci/ds/ownership.h"
#include "lci/ds/spinlock.h"

namespace lci::ds {

// For data under many spinlocks of which mostly one thread uses all: that thread becomes the owner
// of the bypass, and then takes none of them, which saves it the locked instruction. The first other
// thread that has one of the locks ends that, which costs a process_barrier(); a thread becomes the
// owner when it has been the only one for long enough, and for four times as long each time.
//
// A section of the owner:               A section of another thread:
//   try_enter(); not the owner: as ->     takes a lock
//   the lock is taken: leave(); as ->     exclude_owner()
//   uses the data                         uses the data
//   leave()                               releases the lock; count_use()
//
// Thread safety: every member by any thread at any time. try_enter, leave and count_use do not
// block, but for an occasional process_barrier(); exclude_owner waits for at most one section of the
// owner, which must not wait for a lock. It may call exclude_owner itself.
//
// Invariants
//   1. owner_ is changed only with gate_.
//   2. While a thread has one of the locks, and exclude_owner() has returned, another thread that is
//      between try_enter() and leave() finds that lock taken.
// Memory orders, besides those of ownership
//   D  a thread takes one of the locks, has a light_barrier, and reads owner_; a new owner writes
//      owner_, has a process_barrier, and then reads the locks. One of them sees the other's write.
//
// A thread looks whether it is alone at one in Interval uses. It becomes the owner after FirstLooks
// looks of which all were its own, then after four times as many each time, up to MostLooks. Tests
// use fewer, and other owners.
template <class Atomics, uint32_t Interval = 64, uint32_t FirstLooks = 4,
          uint32_t MostLooks = uint32_t{1} << 28, template <class> class Owner = ownership>
class basic_lock_bypass {
 public:
  static constexpr uint32_t no_slot = Owner<Atomics>::slots;

  // Returns what leave() takes; no_slot: the calling thread is not the owner.
  [[gnu::always_inline]] uint32_t try_enter() { return owner_.try_enter(); }
  void leave(uint32_t slot) { owner_.leave(slot); }

  // The calling thread has one of the locks.
  void exclude_owner() {
    Atomics::light_barrier();  // D
    if (__builtin_expect(owner_.is_free(), 1) || owner_.is_mine()) return;
    exclude_other();
  }

  // The calling thread has used the data as another thread than the owner, and has no lock.
  void count_use() {
    if (__builtin_expect(++uses_of_thread % Interval == 0, 0)) look();
  }

 private:
  [[gnu::noinline]] void exclude_other() {
    const std::lock_guard<basic_spinlock<Atomics>> guard(gate_);
    if (owner_.has_owner()) owner_.end();
    typename Atomics::backoff backoff;
    while (owner_.is_anybody_inside()) backoff.idle();
    owner_.set_free();
    looks_ = 0;
  }

  [[gnu::noinline]] void look() {
    if (!gate_.try_lock()) return;
    const std::lock_guard<basic_spinlock<Atomics>> guard(gate_, std::adopt_lock);
    const uint32_t me = Atomics::thread_number();
    if (last_ != me) looks_ = 0;
    last_ = me;
    if (++looks_ < needed_looks_ || !owner_.is_free()) return;
    looks_ = 0;
    if (needed_looks_ < MostLooks) needed_looks_ *= 4;
    if (owner_.begin(me, false) == no_slot) return;
    Atomics::process_barrier();  // D
  }

  // Of all objects.
  static inline thread_local uint32_t uses_of_thread = 0;

  Owner<Atomics> owner_;
  // What follows is apart from what every section reads. (Not by alignment, which objects on the
  // stack do not have with GCC's AddressSanitizer.)
  [[maybe_unused]] unsigned char apart_[contention_distance];
  basic_spinlock<Atomics> gate_;
  // Guarded by gate_:
  uint32_t last_ = 0;   // the thread that looked last
  uint32_t looks_ = 0;  // its looks in a row
  uint32_t needed_looks_ = FirstLooks;
};

}  // namespace lci::ds

#endif  // LCI_DS_LOCK_BYPASS_H_
