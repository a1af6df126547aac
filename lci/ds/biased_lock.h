#ifndef LCI_DS_BIASED_LOCK_H_
#define LCI_DS_BIASED_LOCK_H_

#include <atomic>
#include <cstdint>

#include "lci/ds/atomics.h"
#include "lci/ds/spinlock.h"

namespace lci::ds {

// A lock with try_lock only, for data that mostly one thread uses but any thread may. After a
// thread has taken the lock many times in a row it becomes the owner, which enters and leaves with
// plain loads and stores. (A locked instruction also waits for all earlier stores, including those
// to lines in another processor's cache, which takes longer than the critical section.) The first
// other thread to take the lock revokes the ownership, which costs a process_barrier(). From then
// on all threads use a spinlock, until one of them has taken it four times as often in a row as was
// needed before, so that barriers become ever rarer. After D. Dice, M. Moir, W. Scherer, "Quickly
// Reacquirable Locks" (2003).
//
// Thread safety: any thread at any time; not recursive. No member blocks: try_lock and unlock are
// wait-free, except for an occasional process_barrier() in try_lock.
//
// Invariants
//   1. At most one thread is between a successful try_lock and its unlock.
//   2. owner_ is changed only with lock_ held; from a thread to nobody only before a
//      process_barrier, and from nobody to a thread only after all of inside_ were false.
//   3. inside_[i] is written only by one thread, the one that owned the lock as owner i: other
//      owners have other slot numbers. That thread may notice late that it is no longer the owner;
//      then it resets inside_[i] without having entered. When no slot number is left, only threads
//      that have one become owners again.
// Memory orders
//   A1 -> A2  those of the spinlock.
//   B1 -> B2  inside_: an owner that leaves resets its own flag (release); a thread that holds
//             lock_ sees that (acquire) before it enters.
//   B3 -> B2  a thread that finds it is no longer the owner also resets its flag (release): a
//             thread that sees this reset, and not the previous one, enters after the former
//             owner's last section.
//   C         the owner sets its inside_, has a light_barrier, and reads owner_; another thread
//             writes owner_, has a process_barrier, and reads inside_. One of them sees the other's
//             write, so that they never both enter. A later holder of lock_ has no process_barrier
//             of its own, but sees values of inside_ no older than the thread that had it: lock_
//             passes that on.
//
// A thread becomes the owner after FirstRounds rounds, then after four times as many each time, up
// to MostRounds. Tests use fewer.
template <class Atomics, uint32_t FirstRounds = 64, uint32_t MostRounds = uint32_t{1} << 30>
class basic_biased_lock {
 public:
  basic_biased_lock() = default;
  basic_biased_lock(const basic_biased_lock&) = delete;
  basic_biased_lock& operator=(const basic_biased_lock&) = delete;

  bool try_lock() {
    const uint32_t slot = try_lock_as_owner();
    if (__builtin_expect(slot == slots, 0)) return try_lock_as_anybody();
    hold_by(slot);
    return true;
  }

  void unlock() {
    Atomics::plain_read(&held_by_, sizeof held_by_);
    const uint32_t slot = held_by_;
    if (__builtin_expect(slot < slots, 1)) {
      leave(slot);
    } else {
      lock_.unlock();
    }
  }

  // Takes the lock without a call if the calling thread is its owner: a fast path in addition to
  // try_lock.
  class owner_guard {
   public:
    [[gnu::always_inline]] explicit owner_guard(basic_biased_lock& lock)
        : lock_(lock), slot_(lock.try_lock_as_owner()) {}
    [[gnu::always_inline]] ~owner_guard() {
      if (*this) lock_.leave(slot_);
    }
    owner_guard(const owner_guard&) = delete;
    owner_guard& operator=(const owner_guard&) = delete;
    explicit operator bool() const { return __builtin_expect(slot_ != slots, 1); }

   private:
    basic_biased_lock& lock_;
    const uint32_t slot_;
  };

  // Whether the calling thread is the owner. Exact for the owner; another thread may become the
  // owner.
  bool is_mine() const {
    return (owner_.load(std::memory_order_relaxed) & thread_bits) == Atomics::known_thread_number();
  }

 private:
  // owner_ has a thread's number in the low bits, and the owner's slot number above.
  static constexpr uint32_t slots = 4;
  static constexpr uint32_t slot_shift = 30;
  static constexpr uint32_t thread_bits = (uint32_t{1} << slot_shift) - 1;
  static constexpr uint32_t nobody = thread_bits;  // no thread's number

  // Returns the owner's slot number, or `slots` if the calling thread is not the owner.
  [[gnu::always_inline]] uint32_t try_lock_as_owner() {
    const uint32_t owner = owner_.load(std::memory_order_relaxed);
    if (__builtin_expect((owner & thread_bits) != Atomics::known_thread_number(), 0)) return slots;
    const uint32_t slot = owner >> slot_shift;
    inside_[slot].store(true, std::memory_order_relaxed);
    Atomics::light_barrier();  // C
    if (__builtin_expect(owner_.load(std::memory_order_relaxed) == owner, 1)) return slot;
    inside_[slot].store(false, std::memory_order_release);  // B3
    return slots;
  }

  void leave(uint32_t slot) {
    inside_[slot].store(false, std::memory_order_release);  // B1
  }

  [[gnu::noinline]] bool try_lock_as_anybody() {
    const uint32_t me = Atomics::thread_number();
    if (!lock_.try_lock()) return false;
    if (owner_.load(std::memory_order_relaxed) != nobody) {
      owner_.store(nobody, std::memory_order_relaxed);
      Atomics::process_barrier();  // C
    }
    for (const auto& inside : inside_) {
      if (!inside.load(std::memory_order_acquire)) continue;  // B2
      lock_.unlock();
      return false;
    }
    hold_by(slots);
    Atomics::plain_write(&last_, sizeof last_);
    if (last_ != me) rounds_ = 0;
    last_ = me;
    if (++rounds_ >= needed_rounds_) become_owner(me);
    return true;
  }

  // Requires lock_.
  void become_owner(uint32_t me) {
    rounds_ = 0;
    if (needed_rounds_ < MostRounds) needed_rounds_ *= 4;
    uint32_t slot = 0;
    while (slot < used_slots_ && owners_[slot] != me) ++slot;
    if (slot == slots || me >= nobody || !Atomics::has_process_barrier()) return;
    if (slot == used_slots_) owners_[used_slots_++] = me;
    inside_[slot].store(true, std::memory_order_relaxed);
    owner_.store(me | slot << slot_shift, std::memory_order_relaxed);
    hold_by(slot);
    lock_.unlock();
  }

  void hold_by(uint32_t slot) {
    Atomics::plain_write(&held_by_, sizeof held_by_);
    held_by_ = slot;
  }

  template <class U>
  using atomic = typename Atomics::template atomic<U>;

  atomic<uint32_t> owner_{nobody};
  atomic<bool> inside_[slots] = {{false}, {false}, {false}, {false}};
  uint32_t held_by_ = slots;  // slot of the current holder, or slots
  basic_spinlock<Atomics> lock_;
  // Guarded by lock_:
  uint8_t used_slots_ = 0;
  uint32_t last_ = nobody;
  uint32_t rounds_ = 0;  // consecutive rounds of last_
  uint32_t needed_rounds_ = FirstRounds;
  uint32_t owners_[slots] = {};  // all owners so far, by slot number
};

using biased_lock = basic_biased_lock<std_atomics>;

}  // namespace lci::ds

#endif  // LCI_DS_BIASED_LOCK_H_
