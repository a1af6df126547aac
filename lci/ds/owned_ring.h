#ifndef LCI_DS_OWNED_RING_H_
#define LCI_DS_OWNED_RING_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "lci/base/cache_aligned.h"
#include "lci/base/check.h"
#include "lci/ds/atomics.h"

namespace lci::ds {

// A ring of values that one thread pushes and one, often the same, pops: both use plain loads and
// stores, whereas a ring for all threads needs a locked instruction per value. Any thread may end
// this: it disowns the ring, has a process_barrier, and seals the ring. Then nothing more is
// pushed, and all threads pop what is left. A ring stays sealed.
//
// This is a bounded queue of L. Lamport ("Specifying concurrent program modules", 1983) that can be
// ended after D. Dice, M. Moir, W. Scherer ("Quickly Reacquirable Locks", 2003), except that no
// thread waits for an owner in the middle of an operation: an operation that was not complete when
// the ring was sealed does not count, and the owner learns that.
//
// T is trivially copyable.
//
// Thread safety: push by any thread, but only the pusher's call has an effect; pop by any thread,
// but only the popper's call has an effect. pop_sealed and is_sealed by any thread. All other
// members by one thread at a time: the user of the ring calls them under a lock. push, pop and
// is_sealed are wait-free, pop_sealed is lock-free.
//
// Invariants
//   1. Ticket t belongs to slot t % capacity. tail_ is the number of values that the pusher has
//      pushed, and only the pusher writes it; head_ is the number of values that the popper has
//      popped, and only the popper writes it. head_ <= tail_ <= head_ + capacity.
//   2. When the ring is sealed, begin_ and end_ become the head and the tail, and are final. The
//      writes of an operation that was in progress then are included in them or do not count.
//      Afterwards begin_ <= shared_head_ <= end_, shared_head_ only grows, and no thread writes the
//      slots in between: a late owner writes at most the slot of ticket end_, which is a different
//      slot, by 1.
//   3. An owner whose push or pop is ok completed it before the ring was sealed.
// Orders
//   A1, the release of a push's tail_, pairs with A2, the acquire of the pop's: the value.
//   B1, the release of a pop's head_, pairs with B2, the acquire of the push's: the slot is no
//       longer read.
//   C   the owner writes tail_ (or head_), has a light_barrier, and reads whether it is still the
//       owner; another thread writes that it is not, has a process_barrier, and reads tail_ (and
//       head_). One of them sees the other's write: what counts for the owner counts for all
//       threads (3). A popper that read a tail_ that came too late to count reads afterwards that
//       it is not the owner; so does a pusher that read such a head_, before it writes the slot,
//       which still has a value.
//   D1, the release of sealed_, pairs with D2, its acquire: begin_, end_, and, since A3, an acquire
//       of tail_ in seal(), pairs with A1, the values.
//   E   a thread that has popped a value reads, by A2, a tail_ that counts its push. E1, the release
//       at the end of the push, pairs with E2, the acquire of is_in_push.
template <class T, class Atomics = std_atomics>
class owned_ring {
  static_assert(std::is_trivially_copyable_v<T>, "values are copied as bytes");

 public:
  enum class result {
    ok,
    refused,    // full, or empty
    not_owner,  // nothing was done
    unsure,     // the ring is being sealed: was_pushed or was_popped says whether it counts
  };
  enum class sealed_result { ok, drained, moved };

  // `capacity` is a power of two; pusher and popper are thread numbers. May throw std::bad_alloc.
  owned_ring(size_t capacity, uint32_t pusher, uint32_t popper)
      : mask_(capacity - 1),
        slots_(base::make_aligned_array<slot>(capacity)),
        pusher_(pusher),
        popper_(popper) {
    LCI_CHECK(capacity >= 1 && (capacity & mask_) == 0, "capacity ", capacity);
  }
  owned_ring(const owned_ring&) = delete;
  owned_ring& operator=(const owned_ring&) = delete;

  // After `unsure`, the pusher must call leave().
  [[gnu::always_inline]] result push(const T& value) { return push(&value, 1); }
  // Pushes all of the values, or none.
  [[gnu::always_inline]] result push(const T* values, size_t count) {
    const uint32_t me = Atomics::known_thread_number();
    if (__builtin_expect(pusher_.load(std::memory_order_relaxed) != me, 0)) {
      return result::not_owner;
    }
    const result answer = push_as(me, values, count);
    if (__builtin_expect(answer == result::ok, 1)) leave();
    return answer;
  }
  // The pusher no longer uses the ring in this call.
  [[gnu::always_inline]] void leave() {
    returned_.store(tail_.load(std::memory_order_relaxed), std::memory_order_release);  // E1
  }
  // Whether a push still uses the ring, although its value has been popped by the calling thread,
  // or by one before it. The ring must not be freed before that is over.
  bool is_in_push() const {
    return returned_.load(std::memory_order_acquire) !=  // E2
           tail_.load(std::memory_order_relaxed);
  }

  // May write *out even if it returns false.
  [[gnu::always_inline]] result pop(T* out) {
    const uint32_t me = Atomics::known_thread_number();
    if (__builtin_expect(popper_.load(std::memory_order_relaxed) != me, 0)) {
      return result::not_owner;
    }
    const uint64_t ticket = head_.load(std::memory_order_relaxed);
    Atomics::plain_read(&tail_seen_, sizeof tail_seen_);
    if (ticket == tail_seen_) {
      Atomics::plain_write(&tail_seen_, sizeof tail_seen_);
      tail_seen_ = tail_.load(std::memory_order_acquire);  // A2
      if (ticket == tail_seen_) return result::refused;
    }
    copy_from(ticket, out);
    head_.store(ticket + 1, std::memory_order_release);  // B1
    return still_mine(popper_, me);
  }

  bool is_sealed() const { return sealed_.load(std::memory_order_acquire); }  // D2

  // Takes the oldest value of a sealed ring. `still` is called before; if it returns false, nothing
  // is taken (moved). *out is always written.
  template <class Condition>
  sealed_result pop_sealed(T* out, const Condition& still) {
    typename Atomics::exponential_backoff race;
    uint64_t ticket = shared_head_.load(std::memory_order_relaxed);
    for (; ticket != end_; race.lost()) {
      if (!still()) return sealed_result::moved;
      copy_from(ticket, out);
      if (shared_head_.compare_exchange_strong(ticket, ticket + 1, std::memory_order_relaxed,
                                               std::memory_order_relaxed)) {
        return sealed_result::ok;
      }
    }
    return sealed_result::drained;
  }

  // The members below are called under the lock of the ring's user.

  // First half of the end. A process_barrier, and seal(), must follow.
  void disown() {
    pusher_.store(nobody, std::memory_order_relaxed);
    popper_.store(nobody, std::memory_order_relaxed);
  }
  void seal() {
    // The head first: the popper that popped this far had seen a tail that this load of tail_ sees,
    // too.
    begin_ = head_.load(std::memory_order_acquire);
    end_ = tail_.load(std::memory_order_acquire);  // A3
    shared_head_.store(begin_, std::memory_order_relaxed);
    sealed_.store(true, std::memory_order_release);  // D1
  }

  // For the thread that got `unsure`, when the ring is sealed: whether the operation counts.
  bool was_pushed() const { return tail_.load(std::memory_order_relaxed) <= end_; }
  bool was_popped() const { return head_.load(std::memory_order_relaxed) <= begin_; }

  // Exact if no thread pushes or pops meanwhile; otherwise an estimate.
  size_t size() const {
    if (is_sealed()) {
      return static_cast<size_t>(end_ - shared_head_.load(std::memory_order_relaxed));
    }
    const uint64_t head = head_.load(std::memory_order_acquire);
    return static_cast<size_t>(tail_.load(std::memory_order_acquire) - head);
  }

 private:
  static constexpr uint32_t nobody = UINT32_MAX - 1;  // no thread's number, nor UINT32_MAX

  // Aligned for the instructions that copy it.
  struct alignas(16) slot {
    unsigned char bytes[sizeof(T)];
  };

  [[gnu::always_inline]] result push_as(uint32_t me, const T* values, size_t count) {
    const uint64_t ticket = tail_.load(std::memory_order_relaxed);
    const uint64_t last = ticket + count - 1;
    Atomics::plain_read(&head_seen_, sizeof head_seen_);
    if (__builtin_expect(last - head_seen_ > mask_, 0)) {
      Atomics::plain_write(&head_seen_, sizeof head_seen_);
      head_seen_ = head_.load(std::memory_order_acquire);                   // B2
      if (still_mine(pusher_, me) != result::ok) return result::not_owner;  // C
      if (last - head_seen_ > mask_) return result::refused;
    }
    for (size_t i = 0; i < count; ++i) {
      slot& filled = slots_[(ticket + i) & mask_];
      Atomics::plain_write(filled.bytes, sizeof(T));
      std::memcpy(filled.bytes, &values[i], sizeof(T));
    }
    tail_.store(last + 1, std::memory_order_release);  // A1
    return still_mine(pusher_, me);
  }

  template <class Owner>
  static result still_mine(const Owner& owner, uint32_t me) {
    Atomics::light_barrier();  // C
    return __builtin_expect(owner.load(std::memory_order_relaxed) == me, 1) ? result::ok
                                                                            : result::unsure;
  }

  void copy_from(uint64_t ticket, T* out) const {
    const slot& taken = slots_[ticket & mask_];
    Atomics::plain_read(taken.bytes, sizeof(T));
    std::memcpy(static_cast<void*>(out), taken.bytes, sizeof(T));
  }

  template <class U>
  using atomic = typename Atomics::template atomic<U>;

  // Written once.
  const uint64_t mask_;
  const base::aligned_array<slot> slots_;
  atomic<uint32_t> pusher_;
  atomic<uint32_t> popper_;
  atomic<bool> sealed_{false};
  uint64_t begin_ = 0;  // written before sealed_
  uint64_t end_ = 0;    // written before sealed_

  alignas(contention_distance) atomic<uint64_t> tail_{0};
  uint64_t head_seen_ = 0;        // for the pusher: an earlier head_
  atomic<uint64_t> returned_{0};  // tail_, when the last push returned

  alignas(contention_distance) atomic<uint64_t> head_{0};
  uint64_t tail_seen_ = 0;  // for the popper: an earlier tail_

  alignas(contention_distance) atomic<uint64_t> shared_head_{0};  // next to pop once sealed
};

}  // namespace lci::ds

#endif  // LCI_DS_OWNED_RING_H_
