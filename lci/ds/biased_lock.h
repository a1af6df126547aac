#ifndef LCI_DS_BIASED_LOCK_H_
#define LCI_DS_BIASED_LOCK_H_

#include <cstdint>

#include "lci/ds/atomics.h"
#include "lci/ds/ownership.h"
#include "lci/ds/spinlock.h"

namespace lci::ds {

// A lock with try_lock only, for data that mostly one thread uses but any thread may. After a
// thread has taken the lock many times in a row it becomes the owner (ownership.h), which executes
// no locked instruction. The first other thread to take the lock ends that, which costs a
// process_barrier(). From then on all threads use a spinlock, until one of them has taken it often
// in a row again (ownership_claims).
//
// Thread safety: any thread at any time; not recursive. No member blocks: try_lock and unlock are
// wait-free, except for an occasional process_barrier() in try_lock.
//
// Invariants
//   1. At most one thread is between a successful try_lock and its unlock.
//   2. owner_ is changed only with lock_ held; from nobody to a thread only after nobody was inside.
// Memory orders
//   A1 -> A2  those of the spinlock.
//   A thread that finds nobody inside may have had no process_barrier of its own. It sees values no
//   older than the thread that ended the ownership: lock_ passes that on.
//
// A thread becomes the owner after FirstRounds to MostRounds rounds. Tests use fewer, and other
// owners.
template <class Atomics, uint32_t FirstRounds = 64, uint32_t MostRounds = uint32_t{1} << 30,
          template <class> class Owner = ownership>
class basic_biased_lock {
 public:
  basic_biased_lock() = default;
  basic_biased_lock(const basic_biased_lock&) = delete;
  basic_biased_lock& operator=(const basic_biased_lock&) = delete;

  bool try_lock() {
    const uint32_t slot = owner_.try_enter();
    if (__builtin_expect(slot == slots, 0)) return try_lock_as_anybody();
    hold_by(slot);
    return true;
  }

  void unlock() {
    Atomics::plain_read(&held_by_, sizeof held_by_);
    const uint32_t slot = held_by_;
    if (__builtin_expect(slot < slots, 1)) {
      owner_.leave(slot);
    } else {
      lock_.unlock();
    }
  }

  // Takes the lock without a call if the calling thread is its owner: a fast path in addition to
  // try_lock.
  class owner_guard : public Owner<Atomics>::stay {
   public:
    [[gnu::always_inline]] explicit owner_guard(basic_biased_lock& lock)
        : Owner<Atomics>::stay(lock.owner_) {}
  };

  // As ownership::is_mine.
  bool is_mine() const { return owner_.is_mine(); }

 private:
  static constexpr uint32_t slots = Owner<Atomics>::slots;

  [[gnu::noinline]] bool try_lock_as_anybody() {
    const uint32_t me = Atomics::thread_number();
    if (!lock_.try_lock()) return false;
    if (!owner_.is_free() && !try_exclude_owner()) {
      lock_.unlock();
      return false;
    }
    hold_by(slots);
    if (claims_.claim(me)) become_owner(me);
    return true;
  }

  // Requires lock_. Returns false while the former owner is inside.
  bool try_exclude_owner() {
    if (owner_.has_owner()) owner_.end();
    if (owner_.is_anybody_inside()) return false;
    if (owner_.was_worthwhile()) claims_.start_over();
    owner_.set_free();
    return true;
  }

  // Requires lock_.
  void become_owner(uint32_t me) {
    const uint32_t slot = owner_.begin(me, true);
    if (slot == slots) return;
    hold_by(slot);
    lock_.unlock();
  }

  void hold_by(uint32_t slot) {
    Atomics::plain_write(&held_by_, sizeof held_by_);
    held_by_ = slot;
  }

  Owner<Atomics> owner_;
  uint32_t held_by_ = slots;  // slot of the current holder, or slots
  basic_spinlock<Atomics> lock_;
  // Guarded by lock_:
  ownership_claims<Atomics, FirstRounds, MostRounds> claims_;
};

using biased_lock = basic_biased_lock<std_atomics>;

}  // namespace lci::ds

#endif  // LCI_DS_BIASED_LOCK_H_
