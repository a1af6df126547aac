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

#include "lci/ds/atomics.h"
#include "lci/ds/exchange_cell.h"
#include "lci/ds/exchange_ring.h"
#include "lci/ds/lcrq_rings.h"
#include "lci/ds/lone_pair.h"
#include "lci/ds/per_thread.h"
#include "lci/ds/spinlock.h"

namespace lci::ds {

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
  explicit lcrq(size_t ring_capacity = default_ring_capacity) : store_(ring_capacity) {
    shared_ring* only = store_.shared();
    only->cells.open();
    first_.store(only, std::memory_order_relaxed);
    last_.store(only, std::memory_order_relaxed);
  }
  lcrq(const lcrq&) = delete;
  lcrq& operator=(const lcrq&) = delete;
  // The queue may be destroyed as soon as the last value was popped, although its push may not have
  // returned. The destructor waits for that.
  ~lcrq() {
    typename Atomics::backoff backoff;
    for (size_t number = 0; number < places_.size(); ++number) {
      const place* const one = places_.find(number);
      while (one != nullptr && one->pushing.load(std::memory_order_acquire)) backoff.idle();
    }
    store_.for_each_segment([&backoff](const spsc_ring& values) {
      while (values.is_in_push()) backoff.idle();
    });
  }

  // Appends the value. Throws std::bad_alloc if memory is needed and not available; then the value
  // is not in the queue.
  void push(const T& value) {
    ring* const newest = last_.load(std::memory_order_acquire);
    if (newest->is_spsc) {
      const spsc_result result = spsc_of(newest).push(value);
      if (__builtin_expect(result == spsc_result::ok, 1)) return;
      return push_after(newest, result, value);
    }
    push_slowly(value);
  }

  // Appends the values, one after the other, or none of them: if false, they have to be pushed one
  // by one. Wait-free.
  bool try_push(const T* values, size_t count) {
    ring* const newest = last_.load(std::memory_order_acquire);
    if (!newest->is_spsc) return false;
    const spsc_result result = spsc_of(newest).push(values, count);
    return __builtin_expect(result == spsc_result::ok, 1) ||
           (result == spsc_result::unsure && was_pushed(newest));
  }

  // Takes the oldest value. Returns false if the queue was empty at one moment during the call;
  // *out is then unspecified. Throws std::bad_alloc if memory is needed and not available: at the
  // thread's first call, or when it ends the SPSC segments of other threads.
  bool try_pop(T* out) {
    ring* const oldest = first_.load(std::memory_order_acquire);
    if (oldest->is_spsc) {
      const spsc_result result = spsc_of(oldest).pop(out);
      if (__builtin_expect(result == spsc_result::ok, 1)) return true;
      return pop_after(oldest, result, out);
    }
    return pop_slowly(out);
  }

  // Exact if no thread pushes or pops meanwhile; otherwise an estimate. Takes the lock: not for
  // fast paths.
  size_t size() const {
    const std::lock_guard<lock_type> guard(change_);
    size_t total = 0;
    for (ring* r = first_.load(std::memory_order_relaxed); r != nullptr; r = r->next) {
      total += r->is_spsc ? spsc_of(r).size() : cells_of(r).size();
    }
    return total;
  }

  // Number of rings, in use or not, without SPSC segments. Takes the lock.
  size_t rings() const {
    const std::lock_guard<lock_type> guard(change_);
    return store_.shared_rings();
  }

  // Whether the queue currently has SPSC segments. Takes the lock.
  bool has_owners() const {
    const std::lock_guard<lock_type> guard(change_);
    return owned_;
  }

 private:
  using store_type = lcrq_rings<T, Atomics, Cell, SpscPolicy>;
  using ring = typename store_type::ring;
  using shared_ring = typename store_type::shared_ring;
  using spsc_segment = typename store_type::spsc_segment;
  using slot = typename store_type::slot;
  using spsc_ring = typename store_type::spsc_ring;
  using spsc_result = typename spsc_ring::result;
  using pop_result = typename store_type::cells_type::pop_result;
  using place = typename lone_pair<Atomics, SpscPolicy>::place;
  using lock_type = basic_spinlock<Atomics>;
  template <class U>
  using atomic = typename Atomics::template atomic<U>;
  static constexpr auto push_ok = store_type::cells_type::push_result::ok;

  static auto& spsc_of(ring* r) { return store_type::spsc_of(r); }
  static auto& cells_of(ring* r) { return store_type::cells_of(r); }

  // Sets place::pushing, also while an exception leaves the push.
  class push_in_progress {
   public:
    explicit push_in_progress(place* mine) : mine_(*mine) {
      mine_.pushing.store(true, std::memory_order_relaxed);
    }
    ~push_in_progress() { mine_.pushing.store(false, std::memory_order_release); }
    push_in_progress(const push_in_progress&) = delete;
    push_in_progress& operator=(const push_in_progress&) = delete;

   private:
    place& mine_;
  };

  place& my_place() {
    return places_.mine([this](size_t number) {
      const std::lock_guard<lock_type> guard(change_);
      auto made = std::make_unique<place>();
      made->slot = store_.new_slot();
      made->number = static_cast<uint32_t>(number);
      return made;
    });
  }

  // Operations outside the fast path of SPSC segments. All are tail calls of it, so that it saves no
  // registers.

  // After a result of the newest ring other than `ok`.
  [[gnu::noinline]] void push_after(ring* newest, spsc_result result, const T& value) {
    if (result == spsc_result::unsure && was_pushed(newest)) return;
    push_slowly(value);
  }
  // The same of the oldest ring.
  [[gnu::noinline]] bool pop_after(ring* oldest, spsc_result result, T* out) {
    if (result == spsc_result::refused && last_.load(std::memory_order_acquire) == oldest) {
      return false;
    }
    if (result == spsc_result::unsure && was_popped(oldest)) return true;
    return pop_slowly(out);
  }

  [[gnu::noinline]] void push_slowly(const T& value) {
    place& mine = my_place();
    const push_in_progress until_return(&mine);
    slot& filled = store_.at(mine.slot);
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
    const uint64_t pushes = place::count(mine.pushes);
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
    place::count(mine.pops);
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
      const slot& taken = store_.at(mine.slot);
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

  // Changes of the list. Functions that take no lock are called under change_.

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
    shared_ring* const added = store_.shared();
    link(added);
    added->cells.open();
  }

  // As extend(), for the pusher of an SPSC segment.
  void extend_spsc(ring* full) {
    const std::lock_guard<lock_type> guard(change_);
    if (last_.load(std::memory_order_relaxed) != full) return;  // `full` has been sealed
    link(store_.segment(pusher_, popper_));
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
    if (!drained->is_spsc || (owned_ && !spsc_of(drained).is_sealed())) store_.put_back(drained);
    return true;
  }

  // SPSC segments.

  // Called by a thread that has pushed for a while: begins SPSC segments if no other thread has
  // pushed for long enough, and one thread pops.
  [[gnu::noinline]] void ask_whether_alone(place& mine, uint64_t pushes) {
    mine.ask_later(pushes);
    if (!change_.try_lock()) return;
    const std::lock_guard<lock_type> guard(change_, std::adopt_lock);
    const place* const popper = pair_.find_popper(places_, mine, pushes);
    if (popper == nullptr || owned_ || !Atomics::has_process_barrier()) return;
    try {
      begin_spsc(mine.number, popper->number);
    } catch (const std::bad_alloc&) {
      return;  // continue without SPSC segments
    }
    mine.patience = SpscPolicy::first_rounds;
  }

  // Whether the operation that returned `unsure` counts. The lock excludes the thread that seals
  // the SPSC segment.
  [[gnu::noinline]] bool was_pushed(ring* to) const {
    const bool counts = [&] {
      const std::lock_guard<lock_type> guard(change_);
      return spsc_of(to).was_pushed();
    }();
    spsc_of(to).leave();
    return counts;
  }
  [[gnu::noinline]] bool was_popped(ring* from) const {
    const std::lock_guard<lock_type> guard(change_);
    return spsc_of(from).was_popped();
  }

  void begin_spsc(uint32_t pusher, uint32_t popper) {
    spsc_segment* const first = store_.new_segment(pusher, popper);
    pusher_ = pusher;
    popper_ = popper;
    owned_ = true;
    cells_of(last_.load(std::memory_order_relaxed)).close();
    link(first);
    pair_.wait_longer();
  }

  // Called by a thread that owns no SPSC segment.
  [[gnu::noinline]] void end_spsc() {
    const std::lock_guard<lock_type> guard(change_);
    if (!owned_) return;
    shared_ring* const added = store_.shared();
    const auto for_each_spsc = [this](const auto& call) {
      for (ring* r = first_.load(std::memory_order_relaxed); r != nullptr; r = r->next) {
        if (r->is_spsc && !spsc_of(r).is_sealed()) call(spsc_of(r));
      }
    };
    for_each_spsc([](spsc_ring& values) { values.disown(); });
    Atomics::process_barrier();
    for_each_spsc([](spsc_ring& values) { values.seal(); });
    owned_ = false;
    store_.forget_segments();
    pair_.forget();
    link(added);
    added->cells.open();
  }

  alignas(contention_distance) atomic<ring*> first_{nullptr};
  atomic<ring*> last_{nullptr};
  per_thread<place, Atomics> places_;
  store_type store_;
  alignas(contention_distance) mutable lock_type change_;
  // Guarded by change_:
  bool owned_ = false;   // there are SPSC segments that are not sealed
  uint32_t pusher_ = 0;  // their owners
  uint32_t popper_ = 0;
  lone_pair<Atomics, SpscPolicy> pair_;
};

}  // namespace lci::ds

#endif  // LCI_DS_LCRQ_H_
