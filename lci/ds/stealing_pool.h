#ifndef LCI_DS_STEALING_POOL_H_
#define LCI_DS_STEALING_POOL_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "lci/base/cache_aligned.h"
#include "lci/base/check.h"
#include "lci/ds/atomics.h"
#include "lci/ds/per_thread.h"
#include "lci/ds/spinlock.h"

namespace lci::ds {

// A pool of elements that any thread takes and puts back, mostly the same thread: each thread has a
// stock of its own, last in first out, so that it gets the elements it touched last. A thread whose
// stock is empty steals from the others; a thread with too many elements sends them back to their
// owners (SC'25 paper, section 5.1.2).
//
// A stock is a small magazine and, behind it, a deque with a lock. A get from the magazine costs
// one atomic exchange on a line that no other thread uses, a put costs an ordinary store. This is
// the minimum for a magazine that can be stolen from ("Laws of order", Attiya et al., POPL 2011).
// Stealing from magazines keeps every element within reach of all threads, whether the place's
// thread sleeps, is busy elsewhere or has ended long ago. (A place remains when its thread ends,
// and the next thread with that number takes it over.)
//
// For a pool that can make more elements there is object_pool, whose threads need not steal.
//
// Owner is a function object: owner(element) is the number (base::thread_number) of the thread that
// called reserve() for it. It must not change while the element is in the pool.
//
// Thread safety: every member by any thread at any time, except construction and destruction. get
// and put are wait-free while the magazine serves them. At most once in `batch` operations they
// take a lock that other threads hold for a few dozen instructions. A steal only tries locks.
// Memory is allocated only by reserve(), and by the first call of a thread whose number no thread
// had before.
//
// Invariants
//   1. An element in the pool is in one slot of one magazine, or in one deque, or one thread is
//      moving it between two of these.
//   2. A slot becomes empty by an exchange, of any thread, whose result has the element; it becomes
//      full by a store of the place's thread only. Outside [bottom, top) slots are empty.
//   3. A deque has room for all elements that its place's thread owns and return_threshold elements
//      of others; a place takes no more elements of others. So a put always finds room.
// Orders
//   A1, the release of a slot's store, pairs with A2, the acquire of the exchange: the element's
//       content. Deques do the same by their locks.
template <class T, class Owner, class Atomics = std_atomics>
class stealing_pool {
 public:
  // Slots of a magazine.
  static constexpr size_t magazine = 32;
  // Number of elements moved at a time between a magazine and a deque.
  static constexpr size_t batch = magazine / 2;

  // A thread whose deque has `return_threshold` elements sends elements of other threads back to
  // their owners. Each thread's deque takes 8 bytes for each of these.
  explicit stealing_pool(size_t return_threshold, const Owner& owner = Owner())
      : return_threshold_(return_threshold), owner_(owner) {}
  stealing_pool(const stealing_pool&) = delete;
  stealing_pool& operator=(const stealing_pool&) = delete;

  // Makes the calling thread the owner of `more` additional elements, which it may now put, or hand
  // to other threads that will. If it throws std::bad_alloc, nothing has changed.
  void reserve(size_t more) {
    place& mine = my_place();
    const std::lock_guard<lock_type> guard(mine.lock);
    mine.rest.reserve(mine.owned + more + return_threshold_);
    mine.owned += more;
  }

  // Takes an element, which the caller then owns; returns null if none was found. Null does not
  // prove that the pool is empty: another thread may have been moving elements, or have held a
  // lock. Throws std::bad_alloc if this is the thread's first call and memory is not available.
  T* get() {
    place& mine = my_place();
    while (__builtin_expect(mine.top != mine.bottom, 1)) {
      T* const element = mine.slot(--mine.top).exchange(nullptr, std::memory_order_acquire);  // A2
      if (__builtin_expect(element != nullptr, 1)) return element;
    }
    return refill(mine);
  }

  // Puts the element into the pool. Throws as get does; then the caller still owns the element.
  void put(T* element) {
    place& mine = my_place();
    if (__builtin_expect(mine.top - mine.bottom == magazine, 0)) spill(mine);
    mine.slot(mine.top++).store(element, std::memory_order_release);  // A1
  }

  // Number of elements in the pool, or in the stock of the thread with that number. Exact if no
  // thread gets or puts meanwhile; otherwise an estimate. Not for fast paths.
  size_t size() const {
    size_t sum = 0;
    for (size_t number = 0; number < places_.size(); ++number) sum += size_of(number);
    return sum;
  }
  size_t size_of(size_t thread_number) const {
    const place* p = places_.find(thread_number);
    if (p == nullptr) return 0;
    size_t sum = p->rest.size();
    for (const slot_type& slot : p->slots) {
      sum += slot.load(std::memory_order_relaxed) != nullptr ? 1 : 0;
    }
    return sum;
  }

 private:
  using lock_type = basic_spinlock<Atomics>;
  using slot_type = typename Atomics::template atomic<T*>;

  // Elements in order of arrival, the newest at the back. Used under its place's lock, except for
  // size().
  class deque {
   public:
    // Makes room for `wanted` elements. Throws std::bad_alloc.
    void reserve(size_t wanted) {
      if (wanted <= capacity_) return;
      size_t capacity = batch;
      while (capacity < wanted) capacity *= 2;
      base::aligned_array<T*> grown = base::make_aligned_array<T*>(capacity);
      const size_t count = size();
      for (size_t i = 0; i < count; ++i) grown[i] = elements_[(first_ + i) & (capacity_ - 1)];
      elements_ = std::move(grown);
      capacity_ = capacity;
      first_ = 0;
    }
    void push_back(T* element) {
      const size_t count = size();
      LCI_CHECK(count < capacity_, "more than the ", capacity_, " elements reserved");
      elements_[(first_ + count) & (capacity_ - 1)] = element;
      size_.store(count + 1, std::memory_order_relaxed);
    }
    // Pops from an end of a deque that is not empty.
    T* pop_back() {
      const size_t count = size();
      size_.store(count - 1, std::memory_order_relaxed);
      return elements_[(first_ + count - 1) & (capacity_ - 1)];
    }
    T* pop_front() {
      size_.store(size() - 1, std::memory_order_relaxed);
      return elements_[first_++ & (capacity_ - 1)];
    }
    // May be called without the lock: then a recent number.
    size_t size() const { return size_.load(std::memory_order_relaxed); }

   private:
    base::aligned_array<T*> elements_;
    size_t capacity_ = 0;  // 0 or a power of two
    size_t first_ = 0;
    typename Atomics::template atomic<size_t> size_{0};
  };

  struct alignas(contention_distance) place {
    slot_type& slot(size_t i) { return slots[i % magazine]; }

    // Only for the place's thread. The magazine is [bottom, top), oldest first; thieves may have
    // emptied slots in it.
    size_t bottom = 0;
    size_t top = 0;
    uint64_t random = 0;
    uint32_t number = 0;
    // Thieves empty these, too.
    slot_type slots[magazine] = {};

    alignas(contention_distance) lock_type lock;
    deque rest;        // guarded by lock
    size_t owned = 0;  // guarded by lock
  };

  place& my_place() {
    return places_.mine([this](size_t number) {
      auto made = std::make_unique<place>();
      made->number = static_cast<uint32_t>(number);
      made->random = number + 1;
      made->rest.reserve(return_threshold_);
      return made;
    });
  }

  // The slow path of get(), when the magazine is empty.
  __attribute__((noinline)) T* refill(place& mine) {
    if (mine.rest.size() > 0) {
      const std::lock_guard<lock_type> guard(mine.lock);
      const size_t count = std::min(mine.rest.size(), batch);
      T* got[batch];
      for (size_t i = 0; i < count; ++i) got[i] = mine.rest.pop_back();
      if (count > 0) return keep_all_but_one(mine, got, count);
    }
    // Deques of all threads first: elements in a magazine are about to be used.
    const size_t places = places_.size();
    mine.random = mine.random * 6364136223846793005u + 1442695040888963407u;
    const size_t first = static_cast<size_t>(mine.random >> 33) % places;
    for (size_t i = 0; i < 2 * places; ++i) {
      place* victim = places_.find((first + i) % places);
      if (victim == nullptr || victim == &mine) continue;
      T* got[batch];
      const size_t count =
          i < places ? steal_from_deque(*victim, got) : steal_from_magazine(*victim, got);
      if (count > 0) return keep_all_but_one(mine, got, count);
    }
    return nullptr;
  }

  // got[0] is used next. The magazine is empty.
  T* keep_all_but_one(place& mine, T* const* got, size_t count) {
    for (size_t i = count; i > 1; --i) {
      mine.slot(mine.top++).store(got[i - 1], std::memory_order_release);  // A1
    }
    return got[0];
  }

  // Takes half of the victim's elements, at most a batch. Returns their number.
  size_t steal_from_deque(place& victim, T** got) {
    if (victim.rest.size() == 0 || !victim.lock.try_lock()) return 0;
    const std::lock_guard<lock_type> guard(victim.lock, std::adopt_lock);
    const size_t count = std::min((victim.rest.size() + 1) / 2, batch);
    for (size_t i = 0; i < count; ++i) got[i] = victim.rest.pop_front();
    return count;
  }
  size_t steal_from_magazine(place& victim, T** got) {
    size_t full = 0;
    for (const slot_type& slot : victim.slots) {
      full += slot.load(std::memory_order_relaxed) != nullptr ? 1 : 0;
    }
    size_t count = 0;
    for (slot_type& slot : victim.slots) {
      if (count == (full + 1) / 2) break;
      if (slot.load(std::memory_order_relaxed) == nullptr) continue;
      T* element = slot.exchange(nullptr, std::memory_order_acquire);  // A2
      if (element != nullptr) got[count++] = element;
    }
    return count;
  }

  // Makes room in a full magazine: its oldest elements go to the deque, or back to their owners.
  __attribute__((noinline)) void spill(place& mine) {
    T* moved[batch];
    size_t count = 0;
    for (size_t i = 0; i < batch; ++i) {
      T* const element =
          mine.slot(mine.bottom++).exchange(nullptr, std::memory_order_acquire);  // A2
      if (element != nullptr) moved[count++] = element;
    }
    const bool keep = mine.rest.size() + count <= return_threshold_;
    size_t i = 0;
    while (i < count) {
      place& to = keep ? mine : owners_place(*moved[i], mine);
      // Move consecutive elements of one owner under one lock.
      const std::lock_guard<lock_type> guard(to.lock);
      do {
        to.rest.push_back(moved[i++]);
      } while (i < count && (keep || &owners_place(*moved[i], mine) == &to));
    }
  }

  place& owners_place(const T& element, const place& mine) {
    const uint32_t number = owner_(element);
    place* owner = places_.find(number);
    LCI_CHECK(owner != nullptr, "thread ", number,
              " owns an element, but has reserved none (thread ", mine.number, " puts it)");
    return *owner;
  }

  const size_t return_threshold_;
  const Owner owner_;
  per_thread<place, Atomics> places_;
};

}  // namespace lci::ds

#endif  // LCI_DS_STEALING_POOL_H_
