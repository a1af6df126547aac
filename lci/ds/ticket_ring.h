#ifndef LCI_DS_TICKET_RING_H_
#define LCI_DS_TICKET_RING_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>

#include "lci/base/backoff.h"
#include "lci/base/check.h"

namespace lci::ds {

// Lines that are written by different threads are kept this far apart (x86 fetches pairs of lines).
constexpr size_t contention_distance = 128;

// The ring that array_queue and growing_queue are made of: a fixed number of cells, each with a
// value of T and the sequence number of the push that wrote it.
//
// Pushes and pops take consecutive tickets from two counters; ticket t belongs to cell
// t % capacity. A ticket is taken by compare-and-swap and not by fetch-and-add: a refused operation
// then leaves no trace, where a fetch-and-add on a full or an empty ring has burnt a ticket that
// the other side must be told to skip; and a thread that loses a race can stand back, so that the
// winner goes on with the lines in its cache (measured with 2 threads on 2 cores: more pairs a
// second than fetch-and-add allows at all). The idea of a sequence number per cell is Vyukov's
// (bounded MPMC queue); unlike there, a pop reads the value *before* it takes its ticket and writes
// nothing but the counter, so no push ever waits for a pop that was preempted half-way.
//
// Thread safety: any thread at any time, except open. Every method is lock-free (a retry means that
// another thread's operation succeeded) and none waits for another thread: a push that was
// preempted between its ticket and its last store hides itself and what came after it (see `busy`).
//
// Invariants
//   1. head <= tail <= head + capacity. Both only grow.
//   2. Ticket t is pushed once and popped once: by the thread whose compare-and-swap moved the
//      counter from t to t + 1.
//   3. The words of cell t % capacity are written for ticket t only while t - capacity < head <= t:
//      the previous value is no longer wanted, and nobody else owns the cell.
//   4. A cell's sequence is t + 1 once the value of ticket t is in it, until that of t + capacity
//      is. It never shrinks.
//   5. While closed, tail does not change.
// Orders
//   A1, the release of `sequence` after the value's words, pairs with A2, its acquire before they
//       are read.
//   B1, the release of `head` after the words were read, pairs with B2, the acquire of `head`
//       before they are overwritten; a push may get it second-hand through head_seen_ (B3, B4).
//   The words themselves are relaxed atomics because a pop that will lose the race for its ticket
//   may read them while they are overwritten; it throws away what it read.
template <class T>
class ticket_ring {
  static_assert(std::is_trivially_copyable_v<T>, "values are copied as words");

 public:
  enum class push_result { ok, full, closed };
  enum class pop_result {
    ok,
    empty,    // there was nothing at one moment during the call
    busy,     // the oldest value is still being pushed
    drained,  // nothing is left, and it is closed
    moved,    // the caller's condition did not hold
  };

  // `capacity` is a power of two. May throw std::bad_alloc.
  ticket_ring(size_t capacity, bool closed)
      : cells_(new cell[capacity]), mask_(capacity - 1), tail_(closed ? closed_bit : 0) {
    LCI_CHECK(capacity >= 2 && (capacity & mask_) == 0, "capacity ", capacity);
  }
  ticket_ring(const ticket_ring&) = delete;
  ticket_ring& operator=(const ticket_ring&) = delete;

  size_t capacity() const { return mask_ + 1; }

  push_result try_push(const T& value) {
    uint64_t ticket = tail_.load(std::memory_order_relaxed);
    base::backoff wait;
    for (;;) {
      if ((ticket & closed_bit) != 0) return push_result::closed;
      if (!has_room(ticket, head_seen_.load(std::memory_order_acquire))) {  // B4
        const uint64_t head = head_.load(std::memory_order_acquire);        // B2
        // head was read after the ticket, so it was no larger then: full means full.
        if (!has_room(ticket, head)) return push_result::full;
        head_seen_.store(head, std::memory_order_release);  // B3
      }
      if (tail_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_relaxed)) break;
      wait.idle();
    }
    cell& mine = cells_[ticket & mask_];
    mine.write(value);
    mine.sequence.store(ticket + 1, std::memory_order_release);  // A1
    return push_result::ok;
  }

  // `still` is asked after a value or its absence was seen and before that is acted on; it says
  // whether the caller still wants this ring.
  template <class Condition>
  pop_result try_pop(T* out, Condition still) {
    base::backoff wait;
    unsigned unpublished = 0;
    for (;;) {
      uint64_t ticket = head_.load(std::memory_order_acquire);
      cell& oldest = cells_[ticket & mask_];
      if (oldest.sequence.load(std::memory_order_acquire) == ticket + 1) {  // A2
        typename cell::copy copied;
        oldest.read(&copied);
        if (!still()) return pop_result::moved;
        if (head_.compare_exchange_strong(ticket, ticket + 1, std::memory_order_acq_rel,  // B1
                                          std::memory_order_relaxed)) {
          std::memcpy(static_cast<void*>(out), &copied, sizeof(T));
          return pop_result::ok;
        }
        wait.idle();
        continue;
      }
      const uint64_t tail = tail_.load(std::memory_order_acquire);
      if (tail == ticket) {
        // Twice the same tail around `still`: nothing was pushed in between.
        if (!still()) return pop_result::moved;
        if (tail_.load(std::memory_order_acquire) == tail) return pop_result::empty;
      } else if (tail == (ticket | closed_bit)) {
        return pop_result::drained;
      } else if (++unpublished > pauses_for_a_push) {
        if (!still()) return pop_result::moved;
        // If head has not moved, the ticket is taken, and its value was not there just now.
        if (head_.load(std::memory_order_acquire) == ticket) return pop_result::busy;
      } else {
        base::cpu_pause();
      }
    }
  }

  // Closes it if it is full at this moment. False if it is not, or was closed already.
  bool close_if_full() {
    uint64_t ticket = tail_.load(std::memory_order_relaxed);
    if ((ticket & closed_bit) != 0) return false;
    if (has_room(ticket, head_.load(std::memory_order_acquire))) return false;
    return tail_.compare_exchange_strong(ticket, ticket | closed_bit, std::memory_order_acq_rel,
                                         std::memory_order_relaxed);
  }

  // Only while it is closed and drained, and by one thread at a time. The counters go on, so that
  // nothing that was read before it was closed is mistaken for the present.
  void open() {
    tail_.store(tail_.load(std::memory_order_relaxed) & ~closed_bit, std::memory_order_release);
  }

  bool is_closed() const { return (tail_.load(std::memory_order_acquire) & closed_bit) != 0; }

  // Exact if nobody pushes or pops meanwhile; else some recent number.
  size_t size() const {
    const uint64_t head = head_.load(std::memory_order_acquire);
    const uint64_t tail = tail_.load(std::memory_order_acquire) & ~closed_bit;
    return static_cast<size_t>(tail - head);
  }

 private:
  static constexpr uint64_t closed_bit = uint64_t{1} << 63;
  static constexpr unsigned pauses_for_a_push = 16;
  static constexpr size_t words = (sizeof(T) + 7) / 8;

  // Cells do not straddle lines: a power of two up to a line, then whole lines.
  static constexpr size_t cell_alignment() {
    size_t alignment = 16;
    while (alignment < 64 && alignment < 8 * (words + 1)) alignment *= 2;
    return alignment;
  }

  struct alignas(cell_alignment()) cell {
    struct copy {
      uint64_t word[words];
    };

    void write(const T& value) {
      copy copied = {};
      std::memcpy(&copied, &value, sizeof(T));
      for (size_t i = 0; i < words; ++i) word[i].store(copied.word[i], std::memory_order_relaxed);
    }

    void read(copy* copied) const {
      for (size_t i = 0; i < words; ++i) copied->word[i] = word[i].load(std::memory_order_relaxed);
    }

    std::atomic<uint64_t> sequence{0};
    std::atomic<uint64_t> word[words] = {};
  };

  bool has_room(uint64_t ticket, uint64_t head) const {
    // Signed: head may be newer than the ticket.
    return static_cast<int64_t>(ticket - head) <= static_cast<int64_t>(mask_);
  }

  const std::unique_ptr<cell[]> cells_;
  const uint64_t mask_;
  alignas(contention_distance) std::atomic<uint64_t> tail_;     // next to push, and closed_bit
  std::atomic<uint64_t> head_seen_{0};                          // some earlier value of head_
  alignas(contention_distance) std::atomic<uint64_t> head_{0};  // next to pop
};

}  // namespace lci::ds

#endif  // LCI_DS_TICKET_RING_H_
