#ifndef LCI_DS_ARRAY_QUEUE_H_
#define LCI_DS_ARRAY_QUEUE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "lci/base/cache_aligned.h"
#include "lci/ds/atomics.h"

namespace lci::ds {

// A first-in-first-out queue of values with a fixed length, for any number of producers and
// consumers. A push to a full queue fails; no value is overwritten.
//
// Pushes and pops take consecutive tickets from two counters. Ticket t belongs to cell t %
// capacity, whose sequence number says which ticket may use it (Vyukov, "Bounded MPMC queue"). The
// counters are the two atomics that such a queue commonly advances by fetch-and-add. Here
// compare-and-swap advances them. It measured faster, as the processor continues with the ticket
// that it predicts and does not wait for the counter. It also has no effect when it fails, whereas
// a fetch-and-add on a full or an empty queue takes a ticket that cannot be used: the thread must
// wait, possibly for ever, or make the other side skip the ticket.
//
// T is trivially copyable.
//
// Thread safety: every member by any thread at any time, except construction and destruction.
// try_pop is lock-free. try_push is lock-free with one exception: if the queue has wrapped around
// to a value that a pop has claimed but not yet copied, the push waits for that pop (pauses, then
// yields).
//
// Invariants
//   1. head <= tail <= head + capacity. Both only grow.
//   2. Ticket t is pushed once and popped once: by the thread whose compare-and-swap moved the
//      counter from t to t + 1.
//   3. A cell's sequence is t while it waits for the push of ticket t, t + 1 while it holds that
//      value, then t + capacity. Between its compare-and-swap and its store of the sequence, the
//      thread of the ticket owns the value.
// Orders
//   A1, the release of a push's sequence, pairs with A2, the acquire of the pop's: the value.
//   B1, the release of a pop's sequence, pairs with B2, the acquire of the push's: the value has
//       been copied.
//   C1, the release of a counter's compare-and-swap, pairs with C2, the acquire of its load: a
//       thread that compares the counters to find the queue full or empty loads the second counter
//       as it was when the first got its loaded value, or later.
template <class T, class Atomics = std_atomics>
class array_queue {
  static_assert(std::is_trivially_copyable_v<T>, "values are copied as bytes");

 public:
  // Holds at least `length` values (the next power of two). May throw std::bad_alloc.
  explicit array_queue(size_t length)
      : mask_(round_up(length) - 1), cells_(base::make_aligned_array<cell>(round_up(length))) {
    for (size_t i = 0; i <= mask_; ++i) cells_[i].sequence.store(i, std::memory_order_relaxed);
  }
  array_queue(const array_queue&) = delete;
  array_queue& operator=(const array_queue&) = delete;

  size_t capacity() const { return mask_ + 1; }

  // Returns false if the queue was full at one moment during the call.
  bool try_push(const T& value) {
    typename Atomics::backoff wait;
    typename Atomics::exponential_backoff race;
    uint64_t ticket = tail_.load(std::memory_order_relaxed);
    for (;;) {
      cell& mine = cells_[ticket & mask_];
      const uint64_t sequence = mine.sequence.load(std::memory_order_acquire);  // B2
      if (sequence == ticket) {
        if (tail_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_release,  // C1
                                        std::memory_order_relaxed)) {
          Atomics::plain_write(mine.bytes, sizeof(T));
          std::memcpy(mine.bytes, &value, sizeof(T));
          mine.sequence.store(ticket + 1, std::memory_order_release);  // A1
          return true;
        }
        race.lost();
      } else if (tail_.load(std::memory_order_acquire) == ticket) {  // C2
        if (ticket - head_.load(std::memory_order_acquire) > mask_) return false;
        wait.idle();  // a pop of the previous lap has moved head, not copied the value
      } else {
        race.lost();
      }
      ticket = tail_.load(std::memory_order_relaxed);
    }
  }

  // Returns false if the queue was empty at one moment during the call, or the oldest value is
  // still being pushed. (A thread may therefore get false right after its own push, while another
  // thread is in the middle of an earlier push.)
  bool try_pop(T* out) {
    typename Atomics::exponential_backoff race;
    unsigned unpublished = 0;
    uint64_t ticket = head_.load(std::memory_order_relaxed);
    for (;;) {
      cell& oldest = cells_[ticket & mask_];
      const uint64_t sequence = oldest.sequence.load(std::memory_order_acquire);  // A2
      if (sequence == ticket + 1) {
        if (head_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_release,  // C1
                                        std::memory_order_relaxed)) {
          Atomics::plain_read(oldest.bytes, sizeof(T));
          std::memcpy(static_cast<void*>(out), oldest.bytes, sizeof(T));
          oldest.sequence.store(ticket + capacity(), std::memory_order_release);  // B1
          return true;
        }
        race.lost();
      } else if (head_.load(std::memory_order_acquire) == ticket) {  // C2
        if (tail_.load(std::memory_order_acquire) == ticket) return false;
        if (++unpublished > pauses_for_a_push) return false;
        Atomics::pause();
      } else {
        race.lost();
      }
      ticket = head_.load(std::memory_order_relaxed);
    }
  }

 private:
  static constexpr unsigned pauses_for_a_push = 16;

  // Cells do not straddle lines: a power of two up to a line, then whole lines.
  static constexpr size_t cell_alignment() {
    size_t alignment = 16;
    while (alignment < 64 && alignment < sizeof(uint64_t) + sizeof(T)) alignment *= 2;
    return alignment;
  }

  struct alignas(cell_alignment()) cell {
    typename Atomics::template atomic<uint64_t> sequence;
    unsigned char bytes[sizeof(T)];
  };

  static size_t round_up(size_t length) {
    size_t capacity = 2;
    while (capacity < length) capacity *= 2;
    return capacity;
  }

  const uint64_t mask_;
  const base::aligned_array<cell> cells_;
  alignas(contention_distance)
      typename Atomics::template atomic<uint64_t> tail_{0};  // next to push
  alignas(contention_distance) typename Atomics::template atomic<uint64_t> head_{0};  // next to pop
};

}  // namespace lci::ds

#endif  // LCI_DS_ARRAY_QUEUE_H_
