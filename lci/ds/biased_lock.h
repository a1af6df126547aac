#ifndef LCI_DS_BIASED_LOCK_H_
#define LCI_DS_BIASED_LOCK_H_

#include <atomic>
#include <cstdint>

#include "lci/ds/atomics.h"
#include "lci/ds/spinlock.h"

namespace lci::ds {

// A lock that is only tried, for what mostly one thread uses but any may: after a thread has had it
// many times in a row it is the owner, which enters and leaves with plain loads and stores. (A
// locked instruction also waits for all stores before it, among them those to lines that are in
// another processor's cache: longer than the section that it guards takes.) The first other thread
// that comes takes the right away, which costs a process_barrier(); from then on all use a
// spinlock, until one has had it in a row four times as often as was needed before: barriers get
// ever fewer. After D. Dice, M. Moir, W. Scherer, "Quickly Reacquirable Locks" (2003).
//
// Thread safety: any thread at any time; not recursive. No member blocks: try_lock and unlock are
// wait-free, but for a process_barrier() of try_lock now and then.
//
// Invariants
//   1. At most one thread is between a successful try_lock and its unlock.
//   2. owner_ is changed only with lock_ held; from a thread to nobody only before a
//      process_barrier, and from nobody to a thread only after all of inside_ were false.
//   3. inside_[i] is written only by one thread, the one that owned the lock as owner i: another
//      owner's has another number. It may notice late that it does so no longer; then it resets
//      inside_[i] without having entered. When there are no more numbers, only those who had one
//      own the lock again.
// Memory orders
//   A1 -> A2  the spinlock's.
//   B1 -> B2  inside_: who leaves as owner resets its own (release); who has lock_ sees that
//             (acquire) before it enters.
//   B3 -> B2  who finds that it is not the owner any more resets its own, too (release): who sees
//             that, and not the reset before, enters after its last section as owner.
//   C         the owner sets its inside_, has a light_barrier, reads owner_; another writes owner_,
//             has a process_barrier, reads inside_. One of them sees what the other wrote, so not
//             both enter. Who gets lock_ later has no process_barrier of its own, but sees inside_
//             no older than who had: lock_ hands that on.
//
// A thread owns it after FirstRounds rounds, then after four times as many each time, until they
// are MostRounds: a test wants fewer.
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

  // Holds the lock, if the calling thread is its owner, without a call: for a short way beside the
  // one that takes try_lock.
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

  // Whether the calling thread is the owner. Exact for the owner; another may become it.
  bool is_mine() const {
    return (owner_.load(std::memory_order_relaxed) & thread_bits) == Atomics::known_thread_number();
  }

 private:
  // owner_ is the number of a thread below, that of the owner above.
  static constexpr uint32_t slots = 4;
  static constexpr uint32_t slot_shift = 30;
  static constexpr uint32_t thread_bits = (uint32_t{1} << slot_shift) - 1;
  static constexpr uint32_t nobody = thread_bits;  // no thread's number

  // The owner's number, or slots if the calling thread is not the owner.
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

  // With lock_ held.
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
  uint32_t held_by_ = slots;  // the owner's number, or slots. Of who holds it now
  basic_spinlock<Atomics> lock_;
  // Guarded by lock_:
  uint8_t used_slots_ = 0;
  uint32_t last_ = nobody;
  uint32_t rounds_ = 0;  // of last_, since it was another thread
  uint32_t needed_rounds_ = FirstRounds;
  uint32_t owners_[slots] = {};  // who ever was, by their numbers
};

using biased_lock = basic_biased_lock<std_atomics>;

}  // namespace lci::ds

#endif  // LCI_DS_BIASED_LOCK_H_
