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
#include "lci/ds/atomics.h"
#include "lci/ds/exchange_cell.h"
#include "lci/ds/exchange_ring.h"
#include "lci/ds/mpmc_array.h"
#include "lci/ds/owned_ring.h"
#include "lci/ds/per_thread.h"
#include "lci/ds/spinlock.h"

namespace lci::ds {

// When an lcrq has SPSC segments, and what they are made of: a test wants others.
struct default_spsc_policy {
  // They begin after so many pushes, then after eight times as many each time, until they are most.
  static constexpr uint64_t first_rounds = 64;
  static constexpr uint64_t most_rounds = uint64_t{1} << 30;
  template <class T, class Atomics>
  using ring = owned_ring<T, Atomics>;
};

// A first-in-first-out queue of values without a bound, for any number of producers and consumers:
// a list of rings (Morrison and Afek, "Fast concurrent queues for x86 processors", PPoPP 2013; for
// what differs see exchange_ring.h). Pushes go to the last ring, pops come from the first. A ring
// that is full is closed and the next one linked behind it; one that is closed and drained is taken
// out and used again. A queue whose length stays below one ring thus goes round in that ring and
// its lines stay in the cache; a burst takes more rings, which stay for the next burst until the
// queue is destroyed. So the memory is that of the longest the queue has been, plus one value a
// thread, plus what is said below of SPSC segments.
//
// Most queues have one thread that pushes and one, often the same, that pops. When that has been so
// for some rounds, the rings that follow are *SPSC segments*: of those two threads, and without
// locked instructions (owned_ring.h). The first other thread that comes ends that: it seals the
// SPSC segments, of which then all pop, and links a ring for all behind them. SpscPolicy come back
// after eight times as many rounds as the time before, so in the end nothing changes any more.
// Those that were sealed are not used again: each such end leaves the memory of what was in the
// queue then.
//
// T is trivially copyable. Cell is wide_cell where the processor has a compare-and-swap of two
// words, else narrow_cell (exchange_cell.h).
//
// Thread safety: push, try_pop and size by any thread at any time; construction and destruction by
// one. Linearizable. Pushing and popping are lock-free as long as the rings do not change, and
// wait-free in SPSC segments. A change is made under a spinlock: once in `ring_capacity` operations
// at most as rings get full and drained, and when SPSC segments begin or end, where who ends them
// also has a process_barrier(). A thread that is preempted anywhere outside that lock holds up
// nobody, and hides no value but the one it has not pushed yet. Nothing is allocated unless more
// rings are needed than ever before, SPSC segments begin, or a thread comes for the first time.
//
// Invariants (a ring is *linked* between becoming the last and ceasing to be the first)
//   1. Open means last: only the last ring is open, and it is opened after it was linked. A SPSC
//   segment is
//      open for its pusher from when it is linked until the next one is or it is sealed.
//   2. A ring is closed only when it is full or a SPSC segment begins, so otherwise it gets at
//   least
//      `capacity` tickets each time it is linked. The next one is linked under the same lock.
//   3. A ring leaves the list only when it is closed (a SPSC segment: not the last) and drained.
//   4. first_, last_ and the `next` links change only under change_, in any order of loads a
//      consistent list: next is set before last_, last_ before the ring is opened.
//   5. Rings and slots are freed only with the queue. A thread that was preempted with a ring in
//      its hands may find it drained, unlinked, or linked again, but always a ring.
//   6. SpscPolicy that aren't sealed are of one pusher and one popper, for ever; there is nothing
//   behind
//      them but such SPSC segments. They are linked by their pusher and unlinked by their popper
//      only, so neither of these takes for the last (the first) what isn't. When they are sealed,
//      all linked ones are; the others are not linked again.
// Why such a late thread does no harm: a push succeeds only on an open ring, which is the last (1).
// A pop succeeds only if it saw the value of ticket t, then saw the ring be first, then took t. The
// value was there from the first to the last of these moments, so the ring was not drained and not
// unlinked in between (3): it is still the first. A pop gives up only if the ring was first between
// two moments at which it was open and without values, and nothing was pushed in between: then it
// was the first and the last ring, and empty. Of SPSC segments (6) says that; and an owner whose
// SPSC segment was sealed meanwhile learns whether what he did counts, else he begins anew.
//
template <class T, class Atomics = std_atomics, template <class> class Cell = default_cell,
          class SpscPolicy = default_spsc_policy>
class lcrq {
  static_assert(std::is_trivially_copyable_v<T>, "values are copied as bytes");

 public:
  // Values per ring: with up to 64 bytes each, 40 KiB. (And a quarter of that for SPSC segments,
  // which so stay in the cache nearest to the processor.)
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

  // Appends the value. Throws std::bad_alloc if memory is needed and cannot be had; then the value
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

  // Takes the oldest value. False if there was none at one moment during the call; then *out means
  // nothing. Throws std::bad_alloc if memory is needed and cannot be had: at the thread's first
  // call, or when it ends others' SPSC segments.
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

  // Exact if nobody pushes or pops meanwhile; else an estimate. Takes the lock: not for fast paths.
  size_t size() const {
    const std::lock_guard<lock_type> guard(change_);
    size_t total = 0;
    for (const ring* r = first_.load(std::memory_order_relaxed); r != nullptr; r = r->next) {
      total += r->is_spsc ? spsc_of(r).size() : cells_of(r).size();
    }
    return total;
  }

  // How many rings there are, in use or not, without SPSC segments. Takes the lock.
  size_t rings() const {
    const std::lock_guard<lock_type> guard(change_);
    return rings_.size();
  }

  // Whether the queue has SPSC segments now. Takes the lock.
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

  // A value, or nothing. It never shares a line with another thread's.
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

  // What a thread has.
  struct alignas(contention_distance) place {
    slot_name slot = 0;  // that it owns between two operations
    // How often it has come but for SPSC segments; written by the thread only.
    atomic<uint64_t> pushes{0};
    atomic<uint64_t> pops{0};
    // The thread's own: when it asks next whether it is the only one, and how long it waits then.
    uint64_t asks_at = SpscPolicy::first_rounds;
    uint64_t patience = SpscPolicy::first_rounds;
    uint32_t number = 0;
    // The counts when that was last asked, by whomever; guarded by change_.
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

  // ---- what isn't done in a SPSC segment at once

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

  // ---- slots

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

  // ---- changes of the list; those without a lock are called under change_

  // A ring that never was in use.
  shared_ring* new_ring() {
    spare_.reserve(rings_.size() + 1);  // room for its return: drop_first cannot fail
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
    spare_spsc_.reserve(spsc_segments_.size() + 1);  // likewise
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

  // The one behind is open, if it is a SPSC segment; else to be opened.
  void link(ring* added) {
    added->next = nullptr;
    last_.load(std::memory_order_relaxed)->next = added;
    last_.store(added, std::memory_order_release);
  }

  // Makes room behind a last ring that was found full.
  void extend() {
    const std::lock_guard<lock_type> guard(change_);
    ring* const full = last_.load(std::memory_order_relaxed);
    // Another thread may have extended, or a pop made room. It may be closed already, if its
    // successor could not be had then (std::bad_alloc).
    if (full->is_spsc || !cells_of(full).close_if_full()) return;
    shared_ring* const added = spare_or_new_ring();
    link(added);
    added->cells.open();
  }

  // The same by the pusher of a SPSC segment.
  void extend_spsc(ring* full) {
    const std::lock_guard<lock_type> guard(change_);
    if (last_.load(std::memory_order_relaxed) != full) return;  // it has been sealed
    spsc_segment* const spare = spare_of(spare_spsc_);
    link(spare != nullptr ? spare : new_spsc_segment(pusher_, popper_));
  }

  // Goes to the ring behind `drained`. False if there is none: the queue is empty.
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

  // ---- SPSC segments

  static constexpr uint64_t most_patience = uint64_t{1} << 16;

  // By a thread that has pushed for a while: begins SPSC segments if no other has for long enough,
  // and one pops.
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
      return;  // it goes without
    }
    mine.patience = SpscPolicy::first_rounds;
  }

  // Who has popped since the last look, if one thread has, and none but `mine` pushed; else null.
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

  // Whether what the owner was told to be unsure of counts: who seals the SPSC segment has the
  // lock.
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

  // By a thread that owns none.
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
  bool owned_ = false;                     // there are SPSC segments that aren't sealed
  uint32_t pusher_ = 0;                    // their owners
  uint32_t popper_ = 0;
  uint64_t needed_rounds_ = SpscPolicy::first_rounds;  // for the next ones
  const place* candidate_ = nullptr;                   // who alone has pushed at the last look,
  uint64_t alone_from_ = 0;                            // since so many pushes
};

}  // namespace lci::ds

#endif  // LCI_DS_LCRQ_H_
