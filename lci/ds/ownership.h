#ifndef LCI_DS_OWNERSHIP_H_
#define LCI_DS_OWNERSHIP_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <utility>

#include "lci/ds/atomics.h"

namespace lci::ds {

// A right of one thread, the owner, to enter and leave with plain loads and stores, until another
// thread ends it. (A locked instruction also waits for all earlier stores, including those to lines
// in another processor's cache, which takes longer than a short critical section.) After D. Dice,
// M. Moir, W. Scherer, "Quickly Reacquirable Locks" (2003). biased_lock and lock_bypass use it.
//
// Thread safety: try_enter, leave, is_mine and is_free by any thread at any time, wait-free; the
// others by one thread at a time.
//
// Invariants
//   1. inside_[i] is written only by one thread, the one that was the owner with slot i: other
//      owners have other slots. That thread may notice late that it is no longer the owner; then it
//      resets inside_[i] without having entered. When no slot is left, only threads that have one
//      become owners again.
//   2. uses_ belongs to the owner while it is inside. After an ownership has ended, and nobody is
//      inside, it belongs to the one thread at a time.
// Memory orders
//   B1 -> B2  inside_: an owner that leaves resets its own flag (release); the thread that ends the
//             ownership sees that (acquire).
//   B3 -> B2  a thread that finds it is no longer the owner also resets its flag (release): a
//             thread that sees this reset, and not the previous one, sees all that the former owner
//             did.
//   B4 -> B5  who finds that there is no owner sees what the thread saw that found nobody inside.
//   C         the owner sets its inside_, has a light_barrier, and reads owner_; another thread
//             writes owner_, has a process_barrier, and reads inside_. One of them sees the other's
//             write.
template <class Atomics, uint32_t Slots>
class basic_ownership {
 public:
  static constexpr uint32_t slots = Slots;

  // Enters if the calling thread is the owner. Returns its slot, for leave(); else `slots`.
  [[gnu::always_inline]] uint32_t try_enter() {
    const uint32_t owner = owner_.load(std::memory_order_relaxed);
    if (__builtin_expect((owner & thread_bits) != Atomics::known_thread_number(), 0)) return slots;
    const uint32_t slot = owner >> slot_shift;
    inside_[slot].store(true, std::memory_order_relaxed);
    Atomics::light_barrier();  // C
    if (__builtin_expect(owner_.load(std::memory_order_relaxed) != owner, 0)) {
      inside_[slot].store(false, std::memory_order_release);  // B3
      return slots;
    }
    Atomics::plain_write(&uses_, sizeof uses_);
    ++uses_;
    return slot;
  }
  void leave(uint32_t slot) {
    inside_[slot].store(false, std::memory_order_release);  // B1
  }

  // While it lives, and if it is true, the calling thread is the owner and inside.
  class stay {
   public:
    [[gnu::always_inline]] explicit stay(basic_ownership& owned)
        : owned_(owned), slot_(owned.try_enter()) {}
    [[gnu::always_inline]] ~stay() {
      if (*this) owned_.leave(slot_);
    }
    stay(const stay&) = delete;
    stay& operator=(const stay&) = delete;
    explicit operator bool() const { return __builtin_expect(slot_ != slots, 1); }

   private:
    basic_ownership& owned_;
    const uint32_t slot_;
  };

  // Whether the calling thread is the owner. Exact for the owner; another thread may become the
  // owner.
  bool is_mine() const {
    return (owner_.load(std::memory_order_relaxed) & thread_bits) == Atomics::known_thread_number();
  }
  // There is no owner, and nobody is inside.
  bool is_free() const { return owner_.load(std::memory_order_acquire) == nobody; }  // B5

  // One thread at a time:

  bool has_owner() const {
    const uint32_t owner = owner_.load(std::memory_order_relaxed);
    return owner != nobody && owner != ending;
  }
  // Nobody enters any more. The former owner may still be inside.
  void end() {
    owner_.store(ending, std::memory_order_relaxed);
    const std::chrono::nanoseconds took = Atomics::process_barrier();  // C
    worthwhile_uses_ = static_cast<uint32_t>(
        std::min(took / saved_by_use, int64_t{std::numeric_limits<uint32_t>::max()}));
  }
  bool is_anybody_inside() const {
    for (uint32_t slot = 0; slot < used_slots_; ++slot) {
      if (inside_[slot].load(std::memory_order_acquire)) return true;  // B2
    }
    return false;
  }

  // Nobody has been found inside after the end:

  // Whether the last ownership saved more time than its end took. (Then false, until another ends.)
  bool was_worthwhile() {
    Atomics::plain_write(&uses_, sizeof uses_);
    return std::exchange(uses_, 0) > worthwhile_uses_;
  }
  void set_free() { owner_.store(nobody, std::memory_order_release); }  // B4

  // The calling thread, whose number is `me`, becomes the owner; nobody is. Returns its slot; it is
  // inside as `inside` says. `slots`: it can't become the owner.
  uint32_t begin(uint32_t me, bool inside) {
    uint32_t slot = 0;
    while (slot < used_slots_ && owners_[slot] != me) ++slot;
    if (slot == slots || me >= ending || !Atomics::has_process_barrier()) return slots;
    if (slot == used_slots_) owners_[used_slots_++] = me;
    if (inside) inside_[slot].store(true, std::memory_order_relaxed);
    owner_.store(me | slot << slot_shift, std::memory_order_relaxed);
    return slot;
  }

 private:
  // What a locked instruction takes at least (25 ns if the line of an earlier store is far away).
  static constexpr std::chrono::nanoseconds saved_by_use{5};
  // owner_ has a thread's number in the low bits, and the owner's slot above.
  static constexpr uint32_t slot_shift = 29;
  static_assert(slots <= uint32_t{1} << (32 - slot_shift));
  static constexpr uint32_t thread_bits = (uint32_t{1} << slot_shift) - 1;
  // No threads' numbers:
  static constexpr uint32_t nobody = thread_bits;
  static constexpr uint32_t ending = thread_bits - 1;

  template <class U>
  using atomic = typename Atomics::template atomic<U>;

  atomic<uint32_t> owner_{nobody};
  atomic<bool> inside_[slots] = {};
  uint32_t uses_ = 0;
  // One thread at a time:
  uint32_t worthwhile_uses_ = 0;  // of the last ownership, in view of what its end cost
  uint32_t used_slots_ = 0;
  uint32_t owners_[slots] = {};  // all owners so far, by slot
};

template <class Atomics>
using ownership = basic_ownership<Atomics, 8>;

// Decides when a thread becomes the owner: after FirstClaims claims in a row at first. Each ownership
// multiplies the claims that the next one needs by four, up to MostClaims, unless it was worthwhile.
// (Threads that share a processor use the same data in turn, each for up to a time slice.)
//
// Thread safety: one thread at a time.
template <class Atomics, uint32_t FirstClaims, uint32_t MostClaims>
class ownership_claims {
 public:
  // The thread with the number `me` makes a claim; there is no owner. Returns whether the thread
  // becomes the owner.
  bool claim(uint32_t me) {
    Atomics::plain_write(&last_, sizeof last_);
    if (last_ != me) claims_ = 0;
    last_ = me;
    if (++claims_ < needed_) return false;
    claims_ = 0;
    if (needed_ < MostClaims) needed_ *= 4;
    return true;
  }
  // Whether a thread other than the one with the number `me` made the last claim.
  bool is_last_of_another(uint32_t me) const {
    Atomics::plain_read(&last_, sizeof last_);
    return last_ != me && last_ != none;
  }
  // The next claim is the first in a row.
  void interrupt() { claims_ = 0; }
  // The last ownership was worthwhile.
  void start_over() { needed_ = FirstClaims; }

 private:
  static constexpr uint32_t none = ~uint32_t{0};
  uint32_t last_ = none;  // the thread that made the last claim
  uint32_t claims_ = 0;   // its claims in a row
  uint32_t needed_ = FirstClaims;
};

}  // namespace lci::ds

#endif  // LCI_DS_OWNERSHIP_H_
