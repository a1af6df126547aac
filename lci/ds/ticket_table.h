#ifndef LCI_DS_TICKET_TABLE_H_
#define LCI_DS_TICKET_TABLE_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <new>

#include "lci/base/cache_aligned.h"
#include "lci/ds/atomics.h"
#include "lci/ds/spinlock.h"

namespace lci::ds {

// Pointers that others refer to by number. A ticket is `Bits` wide: the index of a slot and the
// number of times that the slot has been used, so that an old, invented or foreign ticket is not
// valid. Each entry has an owner (a number >= 0), and only the ticket together with the owner takes
// it out.
//
// Thread safety: every member by any thread at any time. insert and take are lock-free, except when
// the table grows, which doubles it under a lock, and while for_each looks at the entry that take
// takes.
//
// Invariants
//   1. A slot is in the free list, or occupied, or belongs to the one thread that took it from
//      either.
//   2. `word` of a slot holds its generation and, only while it is occupied, its owner + 1.
//   3. The generation is incremented each time the slot is emptied.
//   4. Slots never move: chunk c holds 64 * 2^c of them.
//   5. Only for_each sets and clears the pin of an occupied slot, which nobody empties while it is
//   set.
template <class T, int Bits, class Atomics = std_atomics>
class ticket_table {
 public:
  static constexpr int index_bits = 20;
  static constexpr int generation_bits = Bits - index_bits;
  static_assert(Bits < 32 && generation_bits >= 8, "too few bits to tell old tickets from new");

  // No ticket.
  static constexpr uint32_t none = ~uint32_t{0};

  ticket_table() = default;
  ticket_table(const ticket_table&) = delete;
  ticket_table& operator=(const ticket_table&) = delete;

  // The table holds at most 2^index_bits entries, or fewer (at least 1). Before the first insert.
  void set_limit(uint32_t entries) { limit_ = std::min(entries, max_slots); }

  // A ticket for `value`; `none` if the table is full, or there is no memory for it to grow.
  uint32_t insert(T* value, int owner) {
    const uint32_t index = pop_free();
    if (__builtin_expect(index == end_of_list, 0)) return none;
    slot& s = at(index);
    Atomics::plain_write(&s.value, sizeof s.value);
    s.value = value;
    const uint64_t generation = generation_of(s.word.load(std::memory_order_relaxed));
    // R1: pairs with A1; a thread that sees the owner sees the value.
    s.word.store(make_word(generation, owner), std::memory_order_release);
    return static_cast<uint32_t>(generation << index_bits | index);
  }

  // Removes the entry and returns its value; null if this ticket of this owner is not valid.
  T* take(uint32_t ticket, int owner) {
    const uint32_t index = ticket & (max_slots - 1);
    if (index >= allocated_.load(std::memory_order_acquire)) return nullptr;
    return empty(index, make_word(ticket >> index_bits, owner));
  }

  // Removes all entries of this owner and calls use(value) for each. May miss entries that are
  // inserted concurrently.
  template <class Use>
  void take_all(int owner, Use use) {
    const uint32_t count = allocated_.load(std::memory_order_acquire);
    for (uint32_t index = 0; index < count; ++index) {
      const uint64_t word = at(index).word.load(std::memory_order_relaxed) & ~pinned;
      if (word != make_word(generation_of(word), owner)) continue;
      T* value = empty(index, word);
      if (value != nullptr) use(value);
    }
  }

  // Calls use(value) for each entry that is there all the time, which nobody takes meanwhile. `use`
  // is short and does not call back. One thread at a time.
  template <class Use>
  void for_each(Use use) {
    const uint32_t count = allocated_.load(std::memory_order_acquire);
    for (uint32_t index = 0; index < count; ++index) {
      slot& s = at(index);
      uint64_t word = s.word.load(std::memory_order_relaxed);
      if (static_cast<uint32_t>(word) == 0) continue;
      // A1 as in empty().
      if (!s.word.compare_exchange_strong(word, word | pinned, std::memory_order_acquire,
                                          std::memory_order_relaxed)) {
        continue;
      }
      Atomics::plain_read(&s.value, sizeof s.value);
      use(static_cast<const T&>(*s.value));
      s.word.store(word, std::memory_order_release);  // R3: pairs with A1
    }
  }

 private:
  static constexpr uint64_t pinned = uint64_t{1} << 31;  // in a slot's word: owners are smaller
  static constexpr uint32_t max_slots = uint32_t{1} << index_bits;
  static constexpr uint32_t first_chunk = 64;
  static constexpr int max_chunks = index_bits - 6 + 1;
  static constexpr uint32_t end_of_list = ~uint32_t{0};

  struct slot {
    typename Atomics::template atomic<uint64_t> word{0};
    T* value = nullptr;
    typename Atomics::template atomic<uint32_t> next_free{end_of_list};
  };

  static uint64_t generation_of(uint64_t word) { return word >> 32; }
  static uint64_t make_word(uint64_t generation, int owner) {
    return generation << 32 | (static_cast<uint32_t>(owner) + 1);
  }

  // Chunk c begins at index 64 * (2^c - 1).
  slot& at(uint32_t index) {
    const uint32_t position = index / first_chunk + 1;
    const int chunk = 31 - __builtin_clz(position);
    const uint32_t begin = first_chunk * ((uint32_t{1} << chunk) - 1);
    return chunks_[chunk][index - begin];
  }

  T* empty(uint32_t index, uint64_t expected) {
    slot& s = at(index);
    const uint64_t generation =
        (generation_of(expected) + 1) & ((uint64_t{1} << generation_bits) - 1);
    // A1: pairs with R1. Only one thread succeeds, and owns the slot until it is in the free list.
    const uint64_t wanted = expected;
    typename Atomics::backoff backoff;
    while (!s.word.compare_exchange_strong(expected, generation << 32, std::memory_order_acquire,
                                           std::memory_order_relaxed)) {
      if (expected != (wanted | pinned)) return nullptr;
      backoff.idle();
      expected = wanted;
    }
    Atomics::plain_read(&s.value, sizeof s.value);
    T* value = s.value;
    push_free(index);
    return value;
  }

  // The free list: the index of its first slot in the low half, a count of pushes in the high half,
  // so that the list does not look unchanged when its first slot has left and returned.
  void push_free(uint32_t index) {
    uint64_t head = free_.load(std::memory_order_relaxed);
    do {
      at(index).next_free.store(static_cast<uint32_t>(head), std::memory_order_relaxed);
      // R2: pairs with A2, and hands the slot over.
    } while (!free_.compare_exchange_weak(head, ((head >> 32) + 1) << 32 | index,
                                          std::memory_order_release, std::memory_order_relaxed));
  }

  // The index of a slot; end_of_list if the table is full.
  uint32_t pop_free() {
    uint64_t head = free_.load(std::memory_order_acquire);  // A2: pairs with R2
    for (;;) {
      const uint32_t index = static_cast<uint32_t>(head);
      if (index == end_of_list) {
        const bool full = !grow();
        head = free_.load(std::memory_order_acquire);
        if (full && static_cast<uint32_t>(head) == end_of_list) return end_of_list;
        continue;
      }
      const uint32_t next = at(index).next_free.load(std::memory_order_relaxed);
      if (free_.compare_exchange_weak(head, head >> 32 << 32 | next, std::memory_order_acquire,
                                      std::memory_order_acquire)) {
        return index;
      }
    }
  }

  // False if the table can't have more slots. (Only the last chunk may be shorter than its index
  // says.)
  bool grow() {
    const std::lock_guard<basic_spinlock<Atomics>> guard(growth_);
    if (static_cast<uint32_t>(free_.load(std::memory_order_acquire)) != end_of_list) return true;
    const uint32_t begin = allocated_.load(std::memory_order_relaxed);
    if (begin == limit_) return false;
    const int chunk = 31 - __builtin_clz(begin / first_chunk + 1);
    const uint32_t count = std::min(first_chunk << chunk, limit_ - begin);
    try {
      chunks_[chunk] = base::make_aligned_array<slot>(count);
    } catch (const std::bad_alloc&) {
      return false;
    }
    allocated_.store(begin + count, std::memory_order_release);
    for (uint32_t i = count; i > 0; --i) push_free(begin + i - 1);
    return true;
  }

  typename Atomics::template atomic<uint64_t> free_{end_of_list};
  typename Atomics::template atomic<uint32_t> allocated_{0};  // number of slots
  uint32_t limit_ = max_slots;
  basic_spinlock<Atomics> growth_;
  base::aligned_array<slot> chunks_[max_chunks];  // written under growth_, before allocated_
};

}  // namespace lci::ds

#endif  // LCI_DS_TICKET_TABLE_H_
