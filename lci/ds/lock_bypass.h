#ifndef LCI_DS_LOCK_BYPASS_H_
#define LCI_DS_LOCK_BYPASS_H_

#include <algorithm>
#include <cstdint>
#include <mutex>

#include "lci/ds/atomics.h"
#include "lci/ds/ownership.h"
#include "lci/ds/spinlock.h"

namespace lci::ds {

// For data under many spinlocks of which mostly one thread uses all: that thread becomes the owner
// of the bypass, and then takes none of them, which saves it the locked instruction. The first other
// thread that has one of the locks ends that, which costs a process_barrier(); a thread becomes the
// owner when it has been the only one for long enough (ownership_claims).
//
// A thread that may be the owner uses the data in a try_section, any other in a section. A section
// of the owner takes no lock, but gives up if the lock is taken; one of another thread takes the
// lock, and then waits until no owner is inside. An owner_walk serves for the data of several locks
// in turn, of one bypass or several, and only their owner.
//
// Thread safety: any thread at any time. A try_section does not block, but for an occasional
// process_barrier(), and for at most one section of the owner, which must not wait for a lock. A
// section also waits for the lock.
//
// Invariants
//   1. owner_ is changed only with gate_.
//   2. While a thread has one of the locks, and exclude_owner() has returned, the owner, if another
//      thread is that, finds the lock taken.
// Memory orders, besides those of ownership
//   D  a thread takes one of the locks, has a light_barrier, and reads owner_; a new owner writes
//      owner_, has a process_barrier, and then reads the locks. One of them sees the other's write.
//
// A thread looks whether it is alone at one in Interval uses, or in up to most_uses_between_looks
// while it is not. It becomes the owner after FirstLooks to MostLooks looks of which all were its
// own. Tests use fewer, and other owners.
template <class Atomics, uint32_t Interval = 64, uint32_t FirstLooks = 4,
          uint32_t MostLooks = uint32_t{1} << 28, template <class> class Owner = ownership>
class basic_lock_bypass {
 public:
  using lock_type = basic_spinlock<Atomics>;

  basic_lock_bypass() = default;
  basic_lock_bypass(const basic_lock_bypass&) = delete;
  basic_lock_bypass& operator=(const basic_lock_bypass&) = delete;

  // While it lives, what the lock guards is the calling thread's.
  class section {
   public:
    section(basic_lock_bypass& bypass, lock_type& lock) : lock_(lock) {
      lock_.lock();
      bypass.exclude_owner();
    }
    ~section() { lock_.unlock(); }
    section(const section&) = delete;
    section& operator=(const section&) = delete;

   private:
    lock_type& lock_;
  };

  // The same if it is true; false: another thread uses what the lock guards.
  class try_section {
   public:
    [[gnu::always_inline]] try_section(basic_lock_bypass& bypass, lock_type& lock)
        : bypass_(bypass), lock_(lock), slot_(bypass.owner_.try_enter()) {
      if (__builtin_expect(slot_ != no_slot, 1)) {
        has_it_ = !lock_.is_locked();
      } else {
        has_it_ = lock_.try_lock();
        if (has_it_) bypass_.exclude_owner();
      }
    }
    [[gnu::always_inline]] ~try_section() {
      if (__builtin_expect(slot_ != no_slot, 1)) {
        bypass_.owner_.leave(slot_);
      } else if (has_it_) {
        lock_.unlock();
        bypass_.count_use();
      }
    }
    try_section(const try_section&) = delete;
    try_section& operator=(const try_section&) = delete;
    explicit operator bool() const { return __builtin_expect(has_it_, 1); }

   private:
    basic_lock_bypass& bypass_;
    lock_type& lock_;
    const uint32_t slot_;
    bool has_it_;
  };

  // The owner is inside one bypass at a time, until it goes to another one or the walk ends.
  class owner_walk {
   public:
    owner_walk() = default;
    [[gnu::always_inline]] ~owner_walk() { leave(); }
    owner_walk(const owner_walk&) = delete;
    owner_walk& operator=(const owner_walk&) = delete;

    // Goes to that bypass. False: the calling thread is not the owner.
    [[gnu::always_inline]] bool enter(basic_lock_bypass& bypass) {
      if (&bypass == inside_) return true;
      leave();
      slot_ = bypass.owner_.try_enter();
      if (__builtin_expect(slot_ == no_slot, 0)) return false;
      inside_ = &bypass;
      return true;
    }
    // Whether the calling thread may use what this lock of that bypass guards, until it goes to
    // another one. False: another thread uses it.
    bool may_use(const lock_type& lock) const { return __builtin_expect(!lock.is_locked(), 1); }

   private:
    [[gnu::always_inline]] void leave() {
      if (inside_ != nullptr) inside_->owner_.leave(slot_);
      inside_ = nullptr;
    }

    basic_lock_bypass* inside_ = nullptr;
    uint32_t slot_ = no_slot;
  };

  // As ownership::is_mine.
  bool is_mine() const { return owner_.is_mine(); }

 private:
  static constexpr uint32_t no_slot = Owner<Atomics>::slots;
  static constexpr uint32_t most_uses_between_looks = Interval * Interval;

  // The calling thread has one of the locks.
  void exclude_owner() {
    Atomics::light_barrier();  // D
    if (__builtin_expect(owner_.is_free(), 1) || owner_.is_mine()) return;
    exclude_other();
  }

  // The calling thread has used the data with a lock, which it has no more.
  void count_use() {
    if (__builtin_expect(++uses_of_thread >= next_look_of_thread, 0)) look();
  }

  [[gnu::noinline]] void exclude_other() {
    const std::lock_guard<basic_spinlock<Atomics>> guard(gate_);
    if (owner_.has_owner()) owner_.end();
    typename Atomics::backoff backoff;
    while (owner_.is_anybody_inside()) backoff.idle();
    if (owner_.was_worthwhile()) claims_.start_over();
    owner_.set_free();
    claims_.interrupt();
  }

  // A look writes a line that the looks of other threads write, too. A thread that is not alone
  // therefore looks more and more rarely.
  [[gnu::noinline]] void look() {
    const uint32_t me = Atomics::thread_number();
    bool alone = false;
    if (gate_.try_lock()) {
      const std::lock_guard<basic_spinlock<Atomics>> guard(gate_, std::adopt_lock);
      alone = !claims_.is_last_of_another(me);
      if (owner_.is_free() && claims_.claim(me) && owner_.begin(me, false) != no_slot) {
        Atomics::process_barrier();  // D
      }
    }
    interval_of_thread =
        alone ? Interval
              : std::min(2 * std::max(interval_of_thread, Interval), most_uses_between_looks);
    next_look_of_thread = uses_of_thread + interval_of_thread;
  }

  // Of all objects.
  static inline thread_local uint64_t uses_of_thread = 0;
  static inline thread_local uint64_t next_look_of_thread = Interval;
  static inline thread_local uint32_t interval_of_thread = Interval;

  Owner<Atomics> owner_;
  // What follows is apart from what every section reads. (Not by alignment, which objects on the
  // stack do not have with GCC's AddressSanitizer.)
  [[maybe_unused]] unsigned char apart_[contention_distance];
  basic_spinlock<Atomics> gate_;
  ownership_claims<Atomics, FirstLooks, MostLooks> claims_;  // guarded by gate_
  [[maybe_unused]] unsigned char apart_from_others_[contention_distance];
};

}  // namespace lci::ds

#endif  // LCI_DS_LOCK_BYPASS_H_
