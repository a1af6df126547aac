#ifndef LCI_DS_EXCHANGE_RING_H_
#define LCI_DS_EXCHANGE_RING_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "lci/base/cache_aligned.h"
#include "lci/base/check.h"
#include "lci/ds/atomics.h"
#include "lci/ds/exchange_cell.h"

namespace lci::ds {

// The ring that lcrq consists of: a fixed number of cells, each with the name of a slot. A push
// leaves a slot with a value and takes a free slot in its place; a pop takes the slot with the
// value and leaves a free one. Thus one compare-and-swap of a cell publishes, or takes, a value of
// any size, and between two operations each thread owns one slot.
//
// This is the ring of Morrison and Afek ("Fast concurrent queues for x86 processors", PPoPP 2013)
// with two changes. First, values are in slots, as they are larger than the instruction's operand.
// Second, tickets are not taken by fetch-and-add: an operation looks for the first cell that is
// free (or full) and takes it. There is one locked instruction per operation instead of two, no
// ticket is ever lost or wasted, and a thread that loses a race backs off while the winner
// continues with the lines in its cache. head_ and tail_ are only hints where the search begins.
//
// Thread safety: try_push and try_pop by any thread at any time, lock-free: a retry means that
// another thread's operation has succeeded. For other members see their comments.
//
// Invariants. Ticket t belongs to cell t % capacity in lap t / capacity.
//   1. A cell's state is free for t, full with t, free for t + capacity and so on, in this order;
//      only the bit `closed` is set and cleared. Opening the ring skips a ticket.
//   2. Ticket t is pushed (its cell becomes full) after t - 1 has been, and popped (its cell
//      becomes free for t + capacity) after t - 1 has been. The first ticket not pushed is the
//      ring's tail, and the first ticket not popped is its head.
//   3. head_ and tail_ are never beyond the head and the tail, but may be behind.
//   4. A slot is named by one cell, or owned by one thread.
//   5. While the ring is closed, the bit is in the cell of the tail, so nothing is pushed.
// Orders
//   A1, the release of a push's exchange, pairs with A2, the acquire of the pop's: the value.
//   B1, the release of a pop's exchange, pairs with B2, the acquire of the push's: the free slot is
//       no longer read.
//   C1, the release of a hint's store, pairs with C2, the acquire of its load: a thread that begins
//       at a ticket sees all that was done before that ticket's turn, and mistakes no old state of
//       its cell for the current one. (For the walk from there, the total order of the cells
//       ensures this.)
template <template <class> class Cell, class Atomics>
class exchange_ring {
 public:
  enum class push_result { ok, full, closed };
  enum class pop_result {
    ok,
    empty,    // at one moment during the call
    drained,  // nothing is left, and the ring is closed
    moved,    // the caller's condition did not hold
  };

  // `capacity` is a power of two. next_slot() is called that many times and returns the name of a
  // slot. The new ring is closed. May throw std::bad_alloc, or what next_slot() throws.
  template <class NextSlot>
  exchange_ring(size_t capacity, const NextSlot& next_slot)
      : capacity_(capacity), cells_(base::make_aligned_array<cell>(capacity)) {
    LCI_CHECK(capacity >= 2 && (capacity & (capacity - 1)) == 0, "capacity ", capacity);
    while (size_t{1} << shift_ < capacity) ++shift_;
    for (size_t i = 0; i < capacity; ++i) {
      const uint64_t closed = i == 0 ? cell_state::closed_bit : 0;
      cells_[i].init(cell_state::free_for(stamp_of(i)) | closed, next_slot());
    }
  }
  exchange_ring(const exchange_ring&) = delete;
  exchange_ring& operator=(const exchange_ring&) = delete;

  // If ok, *slot was published, and now names a free slot.
  // Forced inline: the compiler's own choice, a call, costs 5 % of a push and a pop.
  __attribute__((always_inline)) push_result try_push(slot_name* slot) {
    typename Atomics::exponential_backoff race;
    uint64_t hint = tail_.load(std::memory_order_acquire);  // C2
    uint64_t ticket = hint;
    for (;;) {
      cell& c = cell_of(ticket);
      uint64_t state;
      slot_name free_slot;
      c.load(&state, &free_slot);
      if (state == state_bits(cell_state::free_for(stamp_of(ticket)))) {
        const uint64_t full = state | cell_state::full_bit;
        if (c.compare_exchange(state, free_slot, full, *slot)) {  // A1, B2
          *slot = free_slot;
          advance(tail_, ticket + 1);
          return push_result::ok;
        }
        race.lost();
        ticket = hint = tail_.load(std::memory_order_acquire);
      } else if (!walk_to_tail(state, &ticket)) {
        return (state & cell_state::closed_bit) != 0 ? push_result::closed : push_result::full;
      } else if (tail_.load(std::memory_order_relaxed) != hint) {  // other threads are pushing
        race.lost();
        ticket = hint = tail_.load(std::memory_order_acquire);
      }
    }
  }

  // If ok, *slot was left in exchange and now names the slot with the value. `still` is called
  // after a value or its absence was seen and before that is acted on; it returns whether the
  // caller still wants this ring.
  template <class Condition>
  __attribute__((always_inline)) pop_result try_pop(slot_name* slot, const Condition& still) {
    typename Atomics::exponential_backoff race;
    uint64_t hint = head_.load(std::memory_order_acquire);  // C2
    uint64_t ticket = hint;
    for (;;) {
      cell& c = cell_of(ticket);
      uint64_t state;
      slot_name full_slot;
      c.load(&state, &full_slot);
      const uint64_t closed = state & cell_state::closed_bit;
      if ((state ^ closed) == state_bits(cell_state::full_with(stamp_of(ticket)))) {
        if (!still()) return pop_result::moved;
        const uint64_t free = cell_state::free_for(stamp_of(ticket + capacity_)) | closed;
        if (c.compare_exchange(state, full_slot, state_bits(free), *slot)) {  // A2, B1
          *slot = full_slot;
          advance(head_, ticket + 1);
          return pop_result::ok;
        }
        race.lost();
        ticket = hint = head_.load(std::memory_order_acquire);
      } else if (!walk_to_head(state, &ticket)) {
        if (closed != 0) return pop_result::drained;
        if (!still()) return pop_result::moved;
        // Equal states around the call of `still`: nothing was pushed in between.
        uint64_t again;
        c.load(&again, &full_slot);
        if (again == state) return pop_result::empty;
      } else if (head_.load(std::memory_order_relaxed) != hint) {  // other threads are popping
        race.lost();
        ticket = hint = head_.load(std::memory_order_acquire);
      }
    }
  }

  // Closes the ring if it is full at this moment; otherwise returns false. One thread at a time.
  bool close_if_full() {
    return close_unless([](uint64_t state) { return !is_full(state); });
  }
  // Closes the ring unconditionally. Retries as long as concurrent pushes succeed. One thread at a
  // time.
  void close() {
    close_unless([](uint64_t) { return false; });
  }

  // Requires that the ring is closed and drained. One thread at a time. The tickets continue after
  // one that counts as pushed and popped, so that no state seen before the ring was closed is
  // mistaken for the current one.
  void open() {
    uint64_t state;
    slot_name slot;
    const uint64_t ticket = find_tail(&state, &slot);
    LCI_CHECK((state & cell_state::closed_bit) != 0, "state ", state);
    // No other thread writes a cell that is closed and free.
    const uint64_t next_lap = state_bits(cell_state::free_for(stamp_of(ticket + capacity_)));
    const bool opened = cell_of(ticket).compare_exchange(state, slot, next_lap, slot);
    LCI_CHECK(opened, "state ", state);
  }

  // Whether the ring was closed and without values at one moment during the call.
  bool is_drained() const {
    uint64_t state;
    find_head(&state);
    return (state & (cell_state::closed_bit | cell_state::full_bit)) == cell_state::closed_bit;
  }

  // Exact if no thread pushes or pops meanwhile; otherwise an estimate.
  size_t size() const {
    uint64_t state;
    slot_name slot;
    const uint64_t head = find_head(&state);
    const uint64_t tail = find_tail(&state, &slot);
    return tail > head ? static_cast<size_t>(tail - head) : 0;
  }

 private:
  using cell = Cell<Atomics>;

  static constexpr uint64_t state_bits(uint64_t state) {
    return state << (64 - cell::state_bits) >> (64 - cell::state_bits);
  }

  static bool is_full(uint64_t state) { return (state & cell_state::full_bit) != 0; }

  // Closes the ring unless unless(state of the tail's cell) is true; then returns false.
  template <class Condition>
  bool close_unless(const Condition& unless) {
    uint64_t state;
    slot_name slot;
    for (;;) {
      cell& c = cell_of(find_tail(&state, &slot));
      if ((state & cell_state::closed_bit) != 0) return true;
      if (unless(state)) return false;
      if (c.compare_exchange(state, slot, state | cell_state::closed_bit, slot)) return true;
    }
  }

  cell& cell_of(uint64_t ticket) const { return cells_[ticket & (capacity_ - 1)]; }

  uint64_t stamp_of(uint64_t ticket) const {
    return cell::stamps_are_tickets ? ticket : ticket >> shift_;
  }

  // Number of laps from the ticket's to the state's; may be negative.
  int64_t laps_ahead(uint64_t state, uint64_t ticket) const {
    constexpr int unused = 64 - cell::state_bits + cell_state::stamp_shift;
    const uint64_t difference = (state >> cell_state::stamp_shift) - stamp_of(ticket);
    const int64_t stamps = static_cast<int64_t>(difference << unused) >> unused;
    return cell::stamps_are_tickets ? stamps >> shift_ : stamps;
  }

  // Advances *ticket towards the tail, given the state of its cell. Returns false if the ticket is
  // the tail.
  bool walk_to_tail(uint64_t state, uint64_t* ticket) const {
    // The last ticket of this cell that has been pushed is this many laps away.
    const int64_t laps = laps_ahead(state, *ticket) - ((state & cell_state::full_bit) != 0 ? 0 : 1);
    if (laps < 0) return false;
    *ticket += (static_cast<uint64_t>(laps) << shift_) + 1;
    return true;
  }

  // As walk_to_tail, for the head and popped tickets.
  bool walk_to_head(uint64_t state, uint64_t* ticket) const {
    const int64_t laps = laps_ahead(state, *ticket) - 1;
    if (laps < 0) return false;
    *ticket += (static_cast<uint64_t>(laps) << shift_) + 1;
    return true;
  }

  // Returns the tail, and the contents of its cell.
  uint64_t find_tail(uint64_t* state, slot_name* slot) const {
    uint64_t ticket = tail_.load(std::memory_order_acquire);
    do {
      cell_of(ticket).load(state, slot);
    } while (walk_to_tail(*state, &ticket));
    return ticket;
  }

  uint64_t find_head(uint64_t* state) const {
    uint64_t ticket = head_.load(std::memory_order_acquire);
    slot_name slot;
    do {
      cell_of(ticket).load(state, &slot);
    } while (walk_to_head(*state, &ticket));
    return ticket;
  }

  // A thread that was preempted before the store may move the hint back, at the cost of a walk.
  static void advance(typename Atomics::template atomic<uint64_t>& to, uint64_t ticket) {
    if (to.load(std::memory_order_relaxed) < ticket)
      to.store(ticket, std::memory_order_release);  // C1
  }

  const size_t capacity_;
  int shift_ = 1;
  const base::aligned_array<cell> cells_;
  alignas(contention_distance) typename Atomics::template atomic<uint64_t> tail_{0};
  alignas(contention_distance) typename Atomics::template atomic<uint64_t> head_{0};
};

}  // namespace lci::ds

#endif  // LCI_DS_EXCHANGE_RING_H_
