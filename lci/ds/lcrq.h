#ifndef LCI_DS_LCRQ_H_
#define LCI_DS_LCRQ_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <type_traits>
#include <vector>

#include "lci/base/own_lines.h"
#include "lci/ds/atomics.h"
#include "lci/ds/exchange_cell.h"
#include "lci/ds/exchange_ring.h"
#include "lci/ds/mpmc_array.h"
#include "lci/ds/per_thread.h"
#include "lci/ds/spinlock.h"

namespace lci::ds {

// A first-in-first-out queue of values without a bound, for any number of producers and consumers:
// a list of rings (Morrison and Afek, "Fast concurrent queues for x86 processors", PPoPP 2013; for
// what differs see exchange_ring.h). Pushes go to the last ring, pops come from the first. A ring
// that is full is closed and the next one linked behind it; one that is closed and drained is taken
// out and used again. A queue whose length stays below one ring thus goes round in that ring and
// its lines stay in the cache; a burst takes more rings, which stay for the next burst until the
// queue is destroyed. So the memory is that of the longest the queue has been, plus one value a
// thread.
//
// T is trivially copyable. Cell is wide_cell where the processor has a compare-and-swap of two
// words, else narrow_cell (exchange_cell.h).
//
// Thread safety: push, try_pop and size by any thread at any time; construction and destruction by
// one. Linearizable. Pushing and popping are lock-free as long as the ring does not change; a
// change, once in `ring_capacity` operations at most, is made under a spinlock. A thread that is
// preempted anywhere outside that lock holds up nobody, and hides no value but the one it has not
// pushed yet. Nothing is allocated unless more rings are needed than ever before, or a thread comes
// for the first time.
//
// Invariants (a ring is *linked* between becoming the last and ceasing to be the first)
//   1. Open means last: only the last ring is open, and it is opened after it was linked.
//   2. A ring is closed only when it is full, so each time it is linked it gets at least `capacity`
//      tickets.
//   3. A ring leaves the list only when it is closed and drained.
//   4. first_, last_ and the `next` links change only under change_, in any order of loads a
//      consistent list: next is set before last_, last_ before the ring is opened.
//   5. Rings and slots are freed only with the queue. A thread that was preempted with a ring in
//   its
//      hands may find it drained, unlinked, or linked again, but always a ring.
// Why such a late thread does no harm: a push succeeds only on an open ring, which is the last (1).
// A pop succeeds only if it saw the value of ticket t, then saw the ring be first, then took t. The
// value was there from the first to the last of these moments, so the ring was not drained and not
// unlinked in between (3): it is still the first. A pop gives up only if the ring was first between
// two moments at which it was open and without values, and nothing was pushed in between: then it
// was the first and the last ring, and empty.
template <class T, class Atomics = std_atomics, template <class> class Cell = default_cell>
class lcrq {
  static_assert(std::is_trivially_copyable_v<T>, "values are copied as bytes");

 public:
  // Values per ring: with up to 64 bytes each, 40 KiB.
  static constexpr size_t default_ring_capacity = 512;

  // `ring_capacity` is a power of two. May throw std::bad_alloc.
  explicit lcrq(size_t ring_capacity = default_ring_capacity) : ring_capacity_(ring_capacity) {
    ring* only = new_ring();
    only->cells.open();
    first_.store(only, std::memory_order_relaxed);
    last_.store(only, std::memory_order_relaxed);
  }
  lcrq(const lcrq&) = delete;
  lcrq& operator=(const lcrq&) = delete;

  // Appends the value. Throws std::bad_alloc if memory is needed and cannot be had; then the value
  // is not in the queue.
  void push(const T& value) {
    place& mine = my_place();
    slot& filled = at(mine.slot);
    Atomics::plain_write(filled.bytes, sizeof(T));
    std::memcpy(filled.bytes, &value, sizeof(T));
    while (last_.load(std::memory_order_acquire)->cells.try_push(&mine.slot) != push_ok) extend();
  }

  // Takes the oldest value. False if there was none at one moment during the call. Throws
  // std::bad_alloc if it is the thread's first call and memory cannot be had.
  bool try_pop(T* out) {
    place& mine = my_place();
    for (;;) {
      ring* const oldest = first_.load(std::memory_order_acquire);
      const auto still_first = [this, oldest] {
        return first_.load(std::memory_order_acquire) == oldest;
      };
      switch (oldest->cells.try_pop(&mine.slot, still_first)) {
        case pop_result::ok: {
          const slot& taken = at(mine.slot);
          Atomics::plain_read(taken.bytes, sizeof(T));
          std::memcpy(static_cast<void*>(out), taken.bytes, sizeof(T));
          return true;
        }
        case pop_result::empty:
          return false;
        case pop_result::drained:
          if (!drop_first(oldest)) return false;
          break;
        case pop_result::moved:
          break;
      }
    }
  }

  // Exact if nobody pushes or pops meanwhile; else an estimate. Takes the lock: not for fast paths.
  size_t size() const {
    const std::lock_guard<lock_type> guard(change_);
    size_t total = 0;
    for (const ring* r = first_.load(std::memory_order_relaxed); r != nullptr; r = r->next) {
      total += r->cells.size();
    }
    return total;
  }

  // How many rings there are, in use or not. Takes the lock.
  size_t rings() const {
    const std::lock_guard<lock_type> guard(change_);
    return rings_.size();
  }

 private:
  using cells_type = exchange_ring<Cell, Atomics>;
  using cell = Cell<Atomics>;
  using pop_result = typename cells_type::pop_result;
  using lock_type = basic_spinlock<Atomics>;
  static constexpr auto push_ok = cells_type::push_result::ok;
  static constexpr size_t slab_slots = 64;

  // A value, or nothing. It never shares a line with another thread's.
  struct alignas(64) slot {
    unsigned char bytes[sizeof(T)];
  };

  struct ring {
    template <class NextSlot>
    ring(size_t capacity, const NextSlot& next_slot) : cells(capacity, next_slot) {}
    cells_type cells;
    ring* next = nullptr;  // towards the last; guarded by change_
  };

  // The slot that a thread owns between two operations.
  struct alignas(contention_distance) place {
    slot_name slot;
  };

  place& my_place() {
    return places_.mine([this](size_t) {
      const std::lock_guard<lock_type> guard(change_);
      auto made = std::make_unique<place>();
      made->slot = new_slot();
      return made;
    });
  }

  slot& at(slot_name name) const {
    if constexpr (cell::names_are_addresses) {
      return *reinterpret_cast<slot*>(name);
    } else {
      return slab_at_.get(name / slab_slots)[name % slab_slots];
    }
  }

  // A slot that never was in use. Under change_, or by the constructor.
  slot_name new_slot() {
    if (used_slots_ == slabs_.size() * slab_slots) {
      if (used_slots_ + slab_slots > cell::max_slots) throw std::bad_alloc();
      slabs_.reserve(slabs_.size() + 1);
      auto slab = base::make_line_array<slot>(slab_slots);
      slab_at_.set(slabs_.size(), slab.get());
      slabs_.push_back(std::move(slab));
    }
    const size_t index = used_slots_++;
    if constexpr (cell::names_are_addresses) {
      return reinterpret_cast<slot_name>(&slabs_[index / slab_slots][index % slab_slots]);
    } else {
      return index;
    }
  }

  // Likewise.
  ring* new_ring() {
    spare_.reserve(rings_.size() + 1);  // room for its return: drop_first cannot fail
    const size_t used_slots = used_slots_;
    try {
      rings_.push_back(std::make_unique<ring>(ring_capacity_, [this] { return new_slot(); }));
    } catch (...) {
      used_slots_ = used_slots;
      throw;
    }
    return rings_.back().get();
  }

  // Makes room behind a last ring that was found full.
  void extend() {
    const std::lock_guard<lock_type> guard(change_);
    ring* const full = last_.load(std::memory_order_relaxed);
    // Another thread may have extended, or a pop made room. It may be closed already, if its
    // successor could not be had then (std::bad_alloc).
    if (!full->cells.close_if_full()) return;
    ring* added = nullptr;
    if (spare_.empty()) {
      added = new_ring();
    } else {
      added = spare_.back();
      spare_.pop_back();
    }
    added->next = nullptr;
    full->next = added;
    last_.store(added, std::memory_order_release);
    added->cells.open();
  }

  // Goes to the ring behind `drained`. False if there is none: the queue is empty.
  bool drop_first(ring* drained) {
    const std::lock_guard<lock_type> guard(change_);
    if (first_.load(std::memory_order_relaxed) != drained) return true;
    if (!drained->cells.is_drained()) return true;  // linked again
    if (drained->next == nullptr) return false;
    first_.store(drained->next, std::memory_order_release);
    spare_.push_back(drained);
    return true;
  }

  const size_t ring_capacity_;
  alignas(contention_distance) typename Atomics::template atomic<ring*> first_{nullptr};
  typename Atomics::template atomic<ring*> last_{nullptr};
  per_thread<place, Atomics> places_;
  mpmc_array<slot*, Atomics> slab_at_;  // read only if names are not addresses
  alignas(contention_distance) mutable lock_type change_;
  std::vector<std::unique_ptr<ring>> rings_;   // guarded by change_
  std::vector<ring*> spare_;                   // guarded by change_; closed and drained
  std::vector<base::line_array<slot>> slabs_;  // guarded by change_
  size_t used_slots_ = 0;                      // guarded by change_
};

}  // namespace lci::ds

#endif  // LCI_DS_LCRQ_H_
