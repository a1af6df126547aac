// The cells of an exchange_ring: a state and the name of a slot that change together.
#ifndef LCI_DS_EXCHANGE_CELL_H_
#define LCI_DS_EXCHANGE_CELL_H_

#include <atomic>
#include <cstdint>

#include "lci/ds/atomics.h"

namespace lci::ds {

// Identifies a slot: its address in wide cells, its index in narrow cells.
using slot_name = uint64_t;

// State of a cell: a stamp that identifies a ticket; whether the cell has the value of that ticket
// (otherwise a free slot for it); and whether the ring is closed, for the cell's next ticket if the
// cell has a value, otherwise for this ticket. As a number the state only grows, except for the
// lowest bit (and, in narrow cells, until it wraps around).
struct cell_state {
  static constexpr uint64_t closed_bit = 1;
  static constexpr uint64_t full_bit = 2;
  static constexpr int stamp_shift = 2;

  static constexpr uint64_t free_for(uint64_t stamp) { return stamp << stamp_shift; }
  static constexpr uint64_t full_with(uint64_t stamp) { return stamp << stamp_shift | full_bit; }
};

// A cell of two words. Its stamp is the ticket and never wraps around.
template <class Atomics>
class wide_cell {
 public:
  static constexpr bool names_are_addresses = true;
  static constexpr bool stamps_are_tickets = true;
  static constexpr uint64_t max_slots = UINT64_MAX;
  static constexpr int state_bits = 64;

  // Only while no other thread uses the cell.
  void init(uint64_t state, slot_name slot) {
    words_.store_second(slot, std::memory_order_relaxed);
    words_.store_first(state, std::memory_order_relaxed);
  }

  // Loads with acquire. The slot may be newer than the state; then compare_exchange fails. The
  // states of all cells have a single total order, as it takes two states to find a ring full or
  // empty.
  void load(uint64_t* state, slot_name* slot) const {
    *state = words_.load_first(std::memory_order_seq_cst);
    *slot = words_.load_second(std::memory_order_relaxed);
  }

  // Sequentially consistent if it succeeds.
  bool compare_exchange(uint64_t expected_state, slot_name expected_slot, uint64_t state,
                        slot_name slot) {
    return words_.compare_exchange(expected_state, expected_slot, state, slot);
  }

 private:
  typename Atomics::wide_atomic words_;
};

// A cell of one word, for processors that cannot exchange two words. It can name fewer slots than a
// machine has memory for. Its stamp is the lap (how many times the ring has wrapped), which wraps
// around: to mistake an old state for the current one, a thread would have to sleep between two
// instructions for exactly 2^36 laps, that is, months of pushing at the full rate.
template <class Atomics>
class narrow_cell {
 public:
  static constexpr bool names_are_addresses = false;
  static constexpr bool stamps_are_tickets = false;
  static constexpr int slot_bits = 26;
  static constexpr uint64_t max_slots = uint64_t{1} << slot_bits;
  static constexpr int state_bits = 64 - slot_bits;

  void init(uint64_t state, slot_name slot) {
    word_.store(state << slot_bits | slot, std::memory_order_relaxed);
  }

  void load(uint64_t* state, slot_name* slot) const {
    const uint64_t word = word_.load(std::memory_order_seq_cst);
    *state = word >> slot_bits;
    *slot = word & (max_slots - 1);
  }

  bool compare_exchange(uint64_t expected_state, slot_name expected_slot, uint64_t state,
                        slot_name slot) {
    uint64_t expected = expected_state << slot_bits | expected_slot;
    return word_.compare_exchange_strong(expected, state << slot_bits | slot,
                                         std::memory_order_seq_cst, std::memory_order_relaxed);
  }

 private:
  typename Atomics::template atomic<uint64_t> word_{0};
};

#ifdef LCI_DS_HAS_WIDE_ATOMIC
template <class Atomics>
using default_cell = wide_cell<Atomics>;
#else
template <class Atomics>
using default_cell = narrow_cell<Atomics>;
#endif

}  // namespace lci::ds

#endif  // LCI_DS_EXCHANGE_CELL_H_
