// The rings of an lcrq and the slots of its values.
#ifndef LCI_DS_LCRQ_RINGS_H_
#define LCI_DS_LCRQ_RINGS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "lci/base/cache_aligned.h"
#include "lci/base/reserve.h"
#include "lci/ds/atomics.h"
#include "lci/ds/exchange_cell.h"
#include "lci/ds/exchange_ring.h"
#include "lci/ds/mpmc_array.h"

namespace lci::ds {

// Makes rings, keeps those that are not in use, and frees all of them at its end.
//
// Thread safety: at() by any thread at any time, all other members by one thread at a time.
template <class T, class Atomics, template <class> class Cell, class SpscPolicy>
class lcrq_rings {
 public:
  using cells_type = exchange_ring<Cell, Atomics>;
  using spsc_ring = typename SpscPolicy::template ring<T, Atomics>;

  // A value, or nothing. Never shares a line with another thread's slot.
  struct alignas(64) slot {
    unsigned char bytes[sizeof(T)];
  };

  struct ring {
    explicit ring(bool spsc) : is_spsc(spsc) {}
    const bool is_spsc;
    ring* next = nullptr;  // towards the last
  };
  struct shared_ring : ring {
    template <class NextSlot>
    shared_ring(size_t capacity, const NextSlot& next_slot)
        : ring(false), cells(capacity, next_slot) {}
    cells_type cells;
  };
  struct spsc_segment : ring {
    spsc_segment(size_t capacity, uint32_t pusher, uint32_t popper)
        : ring(true), values(capacity, pusher, popper) {}
    spsc_ring values;
  };
  static spsc_ring& spsc_of(ring* r) { return static_cast<spsc_segment*>(r)->values; }
  static cells_type& cells_of(ring* r) { return static_cast<shared_ring*>(r)->cells; }

  // The capacity of a ring for all threads: a power of two.
  explicit lcrq_rings(size_t ring_capacity)
      : ring_capacity_(ring_capacity), spsc_capacity_(ring_capacity < 8 ? 2 : ring_capacity / 4) {}

  slot& at(slot_name name) const {
    if constexpr (cell::names_are_addresses) {
      return *reinterpret_cast<slot*>(name);
    } else {
      return slab_at_.get(name / slab_slots)[name % slab_slots];
    }
  }

  // Returns a slot that has never been in use. May throw std::bad_alloc.
  slot_name new_slot() {
    if (used_slots_ == slabs_.size() * slab_slots) {
      if (used_slots_ + slab_slots > cell::max_slots) throw std::bad_alloc();
      base::reserve_room(&slabs_, slabs_.size() + 1);
      auto slab = base::make_aligned_array<slot>(slab_slots);
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

  // A ring that is closed and drained, or new. May throw std::bad_alloc.
  shared_ring* shared() {
    shared_ring* const spare = spare_of(spare_);
    return spare != nullptr ? spare : new_ring();
  }
  // A drained SPSC segment of the present owners, or a new one for them. May throw std::bad_alloc.
  spsc_segment* segment(uint32_t pusher, uint32_t popper) {
    spsc_segment* const spare = spare_of(spare_spsc_);
    return spare != nullptr ? spare : new_segment(pusher, popper);
  }
  spsc_segment* new_segment(uint32_t pusher, uint32_t popper) {
    base::reserve_room(&spare_spsc_, spsc_segments_.size() + 1);  // as in new_ring
    spsc_segments_.push_back(std::make_unique<spsc_segment>(spsc_capacity_, pusher, popper));
    return spsc_segments_.back().get();
  }

  template <class Use>
  void for_each_segment(const Use& use) const {
    for (const auto& segment : spsc_segments_) use(segment->values);
  }

  // The ring is drained, and in use no longer.
  void put_back(ring* drained) {
    if (drained->is_spsc) {
      spare_spsc_.push_back(static_cast<spsc_segment*>(drained));
    } else {
      spare_.push_back(static_cast<shared_ring*>(drained));
    }
  }
  // The SPSC segments that were put back have no owners any more.
  void forget_segments() { spare_spsc_.clear(); }

  // Number of rings without SPSC segments, in use or not.
  size_t shared_rings() const { return rings_.size(); }

 private:
  using cell = Cell<Atomics>;
  static constexpr size_t slab_slots = 64;

  shared_ring* new_ring() {
    base::reserve_room(&spare_, rings_.size() + 1);  // room to give it back: put_back cannot fail
    const size_t used_slots = used_slots_;
    try {
      rings_.push_back(
          std::make_unique<shared_ring>(ring_capacity_, [this] { return new_slot(); }));
    } catch (...) {
      used_slots_ = used_slots;
      throw;
    }
    return rings_.back().get();
  }

  template <class Ring>
  static Ring* spare_of(std::vector<Ring*>& spare) {
    if (spare.empty()) return nullptr;
    Ring* const found = spare.back();
    spare.pop_back();
    return found;
  }

  const size_t ring_capacity_;
  const size_t spsc_capacity_;
  mpmc_array<slot*, Atomics> slab_at_;  // read only if names are not addresses
  std::vector<std::unique_ptr<shared_ring>> rings_;
  std::vector<shared_ring*> spare_;  // closed and drained
  std::vector<base::aligned_array<slot>> slabs_;
  size_t used_slots_ = 0;
  std::vector<std::unique_ptr<spsc_segment>> spsc_segments_;
  std::vector<spsc_segment*> spare_spsc_;  // of the present owners; drained
};

}  // namespace lci::ds

#endif  // LCI_DS_LCRQ_RINGS_H_
