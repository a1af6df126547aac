#ifndef LCI_DS_LCRQ_H_
#define LCI_DS_LCRQ_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <type_traits>
#include <vector>

#include "lci/base/cache_aligned.h"
#include "lci/base/reserve.h"
#include "lci/ds/atomics.h"
#include "lci/ds/exchange_cell.h"
#include "lci/ds/exchange_ring.h"
#include "lci/ds/mpmc_array.h"
#include "lci/ds/owned_ring.h"
#include "lci/ds/per_thread.h"
#include "lci/ds/spinlock.h"

namespace lci::ds {

// When an lcrq uses SPSC segments, and the type of their rings. Tests use other policies.
struct default_spsc_policy {
  // SPSC segments begin after first_rounds pushes, then after eight times as many each time, up to
  // most_rounds.
  static constexpr uint64_t first_rounds = 64;
  static constexpr uint64_t most_rounds = uint64_t{1} << 30;
  template <class T, class Atomics>
  using ring = owned_ring<T, Atomics>;
};

// A first-in-first-out queue of values without a bound, for any number of producers and consumers:
// a list of rings (Morrison and Afek, "Fast concurrent queues for x86 processors", PPoPP 2013;
// exchange_ring.h describes the differences). Pushes go to the last ring, pops come from the first.
// A full ring is closed and the next ring is linked behind it; a ring that is closed and drained is
// removed and reused. A queue whose length stays below one ring thus stays in that ring, and its
// lines stay in the cache. A burst takes more rings, which remain for the next burst until the
// queue is destroyed. The memory is therefore that of the queue's greatest length, plus one value
// per thread, plus the SPSC segments described below.
//
// Most queues have one thread that pushes and one, often the same, that pops. When this has been
// the case for some rounds, the following rings are *SPSC segments*: they belong to those two
// threads and need no locked instructions (owned_ring.h). The first other thread that uses the
// queue ends this: it seals the SPSC segments, from which all threads then pop, and links a ring
// for all threads behind them. SPSC segments return after eight times as many rounds as the time
// before, so that the changes eventually end. Sealed SPSC segments are not reused: each such end
// costs the memory of the values that were in the queue at that time.
//
// T is trivially copyable. Cell is wide_cell if the processor has a compare-and-swap of two words,
// otherwise narrow_cell (exchange_cell.h).
//
// Thread safety: push, try_pop and size by any thread at any time; construction and destruction by
// one. Linearizable. Pushing and popping are lock-free as long as the rings do not change, and
// wait-free in SPSC segments. A spinlock protects each change: at most once in `ring_capacity`
// operations as rings become full and drained, and when SPSC segments begin or end; the thread that
// ends them also has a process_barrier(). A thread that is preempted anywhere outside that lock
// delays no other thread, and hides no value except the one it has not pushed yet. Nothing is
// allocated unless more rings are needed than ever before, SPSC segments begin, or a thread uses
// the queue for the first time.
//
// Invariants (a ring is *linked* between becoming the last and ceasing to be the first)
//   1. Open means last: only the last ring is open, and it is opened after it was linked. An SPSC
//      segment is open for its pusher from its linking until the next one is linked or it is
//      sealed.
//   2. A ring is closed only when it is full or an SPSC segment begins, so otherwise it gets at
//      least `capacity` tickets each time it is linked. The next ring is linked under the same
//      lock.
//   3. A ring leaves the list only when it is closed (an SPSC segment: not the last) and drained.
//   4. first_, last_ and the `next` links change only under change_, and form a consistent list for
//      any order of loads: next is set before last_, last_ before the ring is opened.
//   5. Rings and slots are freed only with the queue. A thread that was preempted while it used a
//      ring may find it drained, unlinked, or linked again, but the pointer always remains valid.
//   6. SPSC segments that are not sealed belong to one pusher and one popper, for ever; only such
//      SPSC segments are behind them. Only their pusher links them and only their popper unlinks
//      them, so neither mistakes another ring for the last (the first). When they are sealed, all
//      linked ones are sealed; the others are not linked again.
// Such a late thread does no harm. A push succeeds only on an open ring, which is the last (1). A
// pop succeeds only if it saw the value of ticket t, then saw that the ring was first, then took t.
// The value was there from the first to the last of these moments, so the ring was not drained and
// not unlinked in between (3): it is still the first. A pop gives up only if the ring was first
// between two moments at which it was open and without values, and nothing was pushed in between:
// then it was the first and the last ring, and empty. For SPSC segments, (6) ensures this; an owner
// whose SPSC segment was sealed meanwhile learns whether its operation counts, and otherwise begins
// anew.
template <class T, class Atomics = std_atomics, template <class> class Cell = default_cell,
          class SpscPolicy = default_spsc_policy>
class lcrq {
  static_assert(std::is_trivially_copyable_v<T>, "values are copied as bytes");

 public:
  // Values per ring: 40 KiB with values of up to 64 bytes. (An SPSC segment has a quarter of that,
  // and so stays in the cache nearest to the processor.)
  static constexpr size_t default_ring_capacity = 512;

  // `ring_capacity` is a power of two. May throw std::bad_alloc.
  explicit lcrq(size_t ring_capacity = default_ring_capacity)
      : ring_capacity_(ring_capacity), spsc_capacity_(ring_capacity < 8 ? 2 : ring_capacity / 4) {
    shared_ring* only = new_ring();
    only->cells.open();
    first_.store(only, std::memory_order_relaxed);
    last_.store(only, std::memory_order_relaxed);
  }
  lcrq(const lcrq&) = delete;
  lcrq& operator=(const lcrq&) = delete;

  // Appends the value. Throws std::bad_alloc if memory is needed and not available; then the value
  // is not in the queue.
  void push(const T& value) {
    ring* const newest = last_.load(std::memory_order_acquire);
    if (newest->is_spsc) {
      const spsc_result result = spsc_of(newest).push(value);
      if (__builtin_expect(result == spsc_result::ok, 1)) return;
      if (result == spsc_result::unsure && was_pushed(newest)) return;
    }
    push_slowly(value);
  }

  // Takes the oldest value. Returns false if the queue was empty at one moment during the call;
  // *out is then unspecified. Throws std::bad_alloc if memory is needed and not available: at the
  // thread's first call, or when it ends the SPSC segments of other threads.
  bool try_pop(T* out) {
    ring* const oldest = first_.load(std::memory_order_acquire);
    if (oldest->is_spsc) {
      const spsc_result result = spsc_of(oldest).pop(out);
      if (__builtin_expect(result == spsc_result::ok, 1)) return true;
      if (result == spsc_result::refused && last_.load(std::memory_order_acquire) == oldest) {
        return false;
      }
      if (result == spsc_result::unsure && was_popped(oldest)) return true;
    }
    return pop_slowly(out);
  }

  // Exact if no thread pushes or pops meanwhile; otherwise an estimate. Takes the lock: not for
  // fast paths.
  size_t size() const {
    const std::lock_guard<lock_type> guard(change_);
    size_t total = 0;
    for (const ring* r = first_.load(std::memory_order_relaxed); r != nullptr; r = r->next) {
      total += r->is_spsc ? spsc_of(r).size() : cells_of(r).size();
    }
    return total;
  }

  // Number of rings, in use or not, without SPSC segments. Takes the lock.
  size_t rings() const {
    const std::lock_guard<lock_type> guard(change_);
    return rings_.size();
  }

  // Whether the queue currently has SPSC segments. Takes the lock.
  bool has_owners() const {
    const std::lock_guard<lock_type> guard(change_);
    return owned_;
  }

 private:
  using cells_type = exchange_ring<Cell, Atomics>;
  using cell = Cell<Atomics>;
  using pop_result = typename cells_type::pop_result;
  using spsc_ring = typename SpscPolicy::template ring<T, Atomics>;
  using spsc_result = typename spsc_ring::result;
  using lock_type = basic_spinlock<Atomics>;
  static constexpr auto push_ok = cells_type::push_result::ok;
  static constexpr size_t slab_slots = 64;

  // A value, or nothing. Never shares a line with another thread's slot.
  struct alignas(64) slot {
    unsigned char bytes[sizeof(T)];
  };

  struct ring {
    explicit ring(bool spsc) : is_spsc(spsc) {}
    const bool is_spsc;
    ring* next = nullptr;  // towards the last; guarded by change_
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
  static const spsc_ring& spsc_of(const ring* r) {
    return static_cast<const spsc_segment*>(r)->values;
  }
  static cells_type& cells_of(ring* r) { return static_cast<shared_ring*>(r)->cells; }
  static const cells_type& cells_of(const ring* r) {
    return static_cast<const shared_ring*>(r)->cells;
  }

  template <class U>
  using atomic = typename Atomics::template atomic<U>;

  // State of one thread.
  struct alignas(contention_distance) place {
    slot_name slot = 0;  // owned by the thread between two operations
    // Numbers of operations outside SPSC segments; written by the thread only.
    atomic<uint64_t> pushes{0};
    atomic<uint64_t> pops{0};
    // Only for the thread: when it next checks whether it is alone, and how long it waits after
    // that.
    uint64_t asks_at = SpscPolicy::first_rounds;
    uint64_t patience = SpscPolicy::first_rounds;
    uint32_t number = 0;
    // The counts at the last check by any thread; guarded by change_.
    uint64_t pushes_seen = 0;
    uint64_t pops_seen = 0;
  };

  place& my_place() {
    return places_.mine([this](size_t number) {
      const std::lock_guard<lock_type> guard(change_);
      auto made = std::make_unique<place>();
      made->slot = new_slot();
      made->number = static_cast<uint32_t>(number);
      return made;
    });
  }

  static uint64_t count(atomic<uint64_t>& by_me) {
    const uint64_t counted = by_me.load(std::memory_order_relaxed) + 1;
    by_me.store(counted, std::memory_order_relaxed);
    return counted;
  }

  // Operations outside the fast path of SPSC segments.

  [[gnu::noinline]] void push_slowly(const T& value) {
    place& mine = my_place();
    slot& filled = at(mine.slot);
    Atomics::plain_write(filled.bytes, sizeof(T));
    std::memcpy(filled.bytes, &value, sizeof(T));
    for (;;) {
      ring* const newest = last_.load(std::memory_order_acquire);
      if (newest->is_spsc) {
        if (push_to_spsc(newest, value)) return;
      } else if (cells_of(newest).try_push(&mine.slot) == push_ok) {
        break;
      } else {
        extend();
      }
    }
    const uint64_t pushes = count(mine.pushes);
    if (__builtin_expect(pushes == mine.asks_at, 0)) ask_whether_alone(mine, pushes);
  }

  bool push_to_spsc(ring* newest, const T& value) {
    switch (spsc_of(newest).push(value)) {
      case spsc_result::ok:
        return true;
      case spsc_result::unsure:
        return was_pushed(newest);
      case spsc_result::refused:
        extend_spsc(newest);
        return false;
      case spsc_result::not_owner:
        end_spsc();
        return false;
    }
    return false;
  }

  [[gnu::noinline]] bool pop_slowly(T* out) {
    place& mine = my_place();
    count(mine.pops);
    for (;;) {
      ring* const oldest = first_.load(std::memory_order_acquire);
      const auto still_first = [this, oldest] {
        return first_.load(std::memory_order_acquire) == oldest;
      };
      switch (oldest->is_spsc ? pop_from_spsc(oldest, out, still_first)
                              : pop_from_cells(oldest, out, mine, still_first)) {
        case pop_result::ok:
          return true;
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

  template <class Condition>
  [[gnu::always_inline]] pop_result pop_from_cells(ring* oldest, T* out, place& mine,
                                                   const Condition& still_first) {
    const pop_result result = cells_of(oldest).try_pop(&mine.slot, still_first);
    if (result == pop_result::ok) {
      const slot& taken = at(mine.slot);
      Atomics::plain_read(taken.bytes, sizeof(T));
      std::memcpy(static_cast<void*>(out), taken.bytes, sizeof(T));
    }
    return result;
  }

  template <class Condition>
  pop_result pop_from_spsc(ring* oldest, T* out, const Condition& still_first) {
    spsc_ring& values = spsc_of(oldest);
    switch (values.pop(out)) {
      case spsc_result::ok:
        return pop_result::ok;
      case spsc_result::unsure:
        return was_popped(oldest) ? pop_result::ok : pop_result::moved;
      case spsc_result::refused:
        return last_.load(std::memory_order_acquire) == oldest ? pop_result::empty
                                                               : pop_result::drained;
      case spsc_result::not_owner:
        break;
    }
    if (!values.is_sealed()) {
      end_spsc();
      return pop_result::moved;
    }
    switch (values.pop_sealed(out, still_first)) {
      case spsc_ring::sealed_result::ok:
        return pop_result::ok;
      case spsc_ring::sealed_result::drained:
        return pop_result::drained;
      case spsc_ring::sealed_result::moved:
        break;
    }
    return pop_result::moved;
  }

  // Slots.

  slot& at(slot_name name) const {
    if constexpr (cell::names_are_addresses) {
      return *reinterpret_cast<slot*>(name);
    } else {
      return slab_at_.get(name / slab_slots)[name % slab_slots];
    }
  }

  // Returns a slot that has never been in use. Called under change_, or by the constructor.
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

  // Changes of the list. Functions that take no lock are called under change_.

  // Returns a ring that has never been in use.
  shared_ring* new_ring() {
    base::reserve_room(&spare_, rings_.size() + 1);  // room to give it back: drop_first cannot fail
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

  spsc_segment* new_spsc_segment(uint32_t pusher, uint32_t popper) {
    base::reserve_room(&spare_spsc_, spsc_segments_.size() + 1);  // as in new_ring
    spsc_segments_.push_back(std::make_unique<spsc_segment>(spsc_capacity_, pusher, popper));
    return spsc_segments_.back().get();
  }

  template <class Ring>
  static Ring* spare_of(std::vector<Ring*>& spare) {
    if (spare.empty()) return nullptr;
    Ring* const found = spare.back();
    spare.pop_back();
    return found;
  }

  shared_ring* spare_or_new_ring() {
    shared_ring* const spare = spare_of(spare_);
    return spare != nullptr ? spare : new_ring();
  }

  // `added` is open if it is an SPSC segment; otherwise the caller opens it.
  void link(ring* added) {
    added->next = nullptr;
    last_.load(std::memory_order_relaxed)->next = added;
    last_.store(added, std::memory_order_release);
  }

  // Makes room behind a last ring that was found full.
  void extend() {
    const std::lock_guard<lock_type> guard(change_);
    ring* const full = last_.load(std::memory_order_relaxed);
    // Another thread may have extended, or a pop made room. The ring may be closed already, if no
    // successor could be allocated then (std::bad_alloc).
    if (full->is_spsc || !cells_of(full).close_if_full()) return;
    shared_ring* const added = spare_or_new_ring();
    link(added);
    added->cells.open();
  }

  // As extend(), for the pusher of an SPSC segment.
  void extend_spsc(ring* full) {
    const std::lock_guard<lock_type> guard(change_);
    if (last_.load(std::memory_order_relaxed) != full) return;  // `full` has been sealed
    spsc_segment* const spare = spare_of(spare_spsc_);
    link(spare != nullptr ? spare : new_spsc_segment(pusher_, popper_));
  }

  // Advances to the ring behind `drained`. Returns false if there is none: the queue is empty.
  bool drop_first(ring* drained) {
    const std::lock_guard<lock_type> guard(change_);
    if (first_.load(std::memory_order_relaxed) != drained) return true;
    const bool is_drained =
        drained->is_spsc ? spsc_of(drained).size() == 0 : cells_of(drained).is_drained();
    if (!is_drained) return true;  // linked again
    if (drained->next == nullptr) return false;
    first_.store(drained->next, std::memory_order_release);
    if (!drained->is_spsc) {
      spare_.push_back(static_cast<shared_ring*>(drained));
    } else if (owned_ && !spsc_of(drained).is_sealed()) {
      spare_spsc_.push_back(static_cast<spsc_segment*>(drained));
    }
    return true;
  }

  // SPSC segments.

  static constexpr uint64_t most_patience = uint64_t{1} << 16;

  // Called by a thread that has pushed for a while: begins SPSC segments if no other thread has
  // pushed for long enough, and one thread pops.
  [[gnu::noinline]] void ask_whether_alone(place& mine, uint64_t pushes) {
    mine.asks_at = pushes + mine.patience;
    mine.patience = std::min(2 * mine.patience, most_patience);
    if (!change_.try_lock()) return;
    const std::lock_guard<lock_type> guard(change_, std::adopt_lock);
    const uint64_t seen = mine.pushes_seen;
    const place* const popper = look_around(mine);
    if (popper == nullptr) {
      candidate_ = nullptr;
      return;
    }
    if (candidate_ != &mine) {
      candidate_ = &mine;
      alone_from_ = seen;
    }
    if (pushes - alone_from_ < needed_rounds_ || owned_ || !Atomics::has_process_barrier()) return;
    try {
      begin_spsc(mine.number, popper->number);
    } catch (const std::bad_alloc&) {
      return;  // continue without SPSC segments
    }
    mine.patience = SpscPolicy::first_rounds;
  }

  // Returns the thread that has popped since the last look, if it is the only one and only `mine`
  // has pushed; otherwise null.
  const place* look_around(const place& mine) {
    const place* popper = nullptr;
    bool alone = true;
    for (size_t number = 0; number < places_.size(); ++number) {
      place* const one = places_.find(number);
      if (one == nullptr) continue;
      const uint64_t pushes = one->pushes.load(std::memory_order_relaxed);
      const uint64_t pops = one->pops.load(std::memory_order_relaxed);
      if (one != &mine && pushes != one->pushes_seen) alone = false;
      if (pops != one->pops_seen) {
        if (popper != nullptr) alone = false;
        popper = one;
      }
      one->pushes_seen = pushes;
      one->pops_seen = pops;
    }
    return alone ? popper : nullptr;
  }

  // Whether the operation that returned `unsure` counts. The lock excludes the thread that seals
  // the SPSC segment.
  [[gnu::noinline]] bool was_pushed(const ring* to) const {
    const std::lock_guard<lock_type> guard(change_);
    return spsc_of(to).was_pushed();
  }
  [[gnu::noinline]] bool was_popped(const ring* from) const {
    const std::lock_guard<lock_type> guard(change_);
    return spsc_of(from).was_popped();
  }

  void begin_spsc(uint32_t pusher, uint32_t popper) {
    spsc_segment* const first = new_spsc_segment(pusher, popper);
    pusher_ = pusher;
    popper_ = popper;
    owned_ = true;
    cells_of(last_.load(std::memory_order_relaxed)).close();
    link(first);
    if (needed_rounds_ < SpscPolicy::most_rounds) needed_rounds_ *= 8;
  }

  // Called by a thread that owns no SPSC segment.
  [[gnu::noinline]] void end_spsc() {
    const std::lock_guard<lock_type> guard(change_);
    if (!owned_) return;
    shared_ring* const added = spare_or_new_ring();
    const auto for_each_spsc = [this](const auto& call) {
      for (ring* r = first_.load(std::memory_order_relaxed); r != nullptr; r = r->next) {
        if (r->is_spsc && !spsc_of(r).is_sealed()) call(spsc_of(r));
      }
    };
    for_each_spsc([](spsc_ring& values) { values.disown(); });
    Atomics::process_barrier();
    for_each_spsc([](spsc_ring& values) { values.seal(); });
    owned_ = false;
    spare_spsc_.clear();
    candidate_ = nullptr;
    link(added);
    added->cells.open();
  }

  const size_t ring_capacity_;
  const size_t spsc_capacity_;
  alignas(contention_distance) atomic<ring*> first_{nullptr};
  atomic<ring*> last_{nullptr};
  per_thread<place, Atomics> places_;
  mpmc_array<slot*, Atomics> slab_at_;  // read only if names are not addresses
  alignas(contention_distance) mutable lock_type change_;
  // Guarded by change_:
  std::vector<std::unique_ptr<shared_ring>> rings_;
  std::vector<shared_ring*> spare_;  // closed and drained
  std::vector<base::aligned_array<slot>> slabs_;
  size_t used_slots_ = 0;
  std::vector<std::unique_ptr<spsc_segment>> spsc_segments_;
  std::vector<spsc_segment*> spare_spsc_;  // of the owners; drained
  bool owned_ = false;                     // there are SPSC segments that are not sealed
  uint32_t pusher_ = 0;                    // their owners
  uint32_t popper_ = 0;
  uint64_t needed_rounds_ = SpscPolicy::first_rounds;  // for the next ones
  const place* candidate_ = nullptr;                   // the only pusher at the last look,
  uint64_t alone_from_ = 0;                            // since this number of its pushes
};

}  // namespace lci::ds

#endif  // LCI_DS_LCRQ_H_
