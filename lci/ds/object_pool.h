#ifndef LCI_DS_OBJECT_POOL_H_
#define LCI_DS_OBJECT_POOL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "lci/base/cache_aligned.h"
#include "lci/base/reserve.h"
#include "lci/ds/atomics.h"
#include "lci/ds/per_thread.h"
#include "lci/ds/spinlock.h"

namespace lci::ds {

// Objects that are reused instead of freed: for the state of operations in progress. Once the pool
// has as many objects as were ever needed at a time, plus two batches per thread, no operation
// allocates.
//
// Each thread keeps up to two batches of objects in lists that no other thread touches, and takes
// the object that it recycled last. A thread with more objects gives a whole batch to a list of all
// threads, the depot, from which a thread without objects takes one. After J. Bonwick, J. Adams,
// "Magazines and Vmem" (USENIX 2001), with lists instead of arrays.
//
// An object is constructed once, keeps its contents when it is recycled, and is destroyed with the
// pool.
//
// Thread safety: make and recycle by any thread at any time; an object may be recycled by another
// thread. Both are wait-free except once in Batch calls of a thread, when they may take a lock, and
// for an allocation when the pool grows or a thread uses it for the first time.
//
// Invariants
//   1. An object is made, or in a list of one thread's place, or in a batch of depot_, or in the
//      list spare_.
//   2. A place has 0 to Batch objects in `first`, and 0 or Batch objects in `full`.
//   3. created_ is the number of objects.
// What a thread wrote to an object before it recycled it is visible to the thread that gets the
// object: through lock_ if that is another thread.
//
// Tests use small batches.
template <class T, class Atomics = std_atomics, uint32_t Batch = 64>
class object_pool {
 public:
  object_pool() = default;
  object_pool(const object_pool&) = delete;
  object_pool& operator=(const object_pool&) = delete;

  // Never null. May throw std::bad_alloc.
  T* make() {
    place* const mine = places_.find(Atomics::known_thread_number());
    entry* const made =
        __builtin_expect(mine != nullptr && mine->first != nullptr, 1) ? mine->pop() : pop_slowly();
    return made->object();
  }

  // Null where make() would have to do more than take an object that this thread keeps.
  [[gnu::always_inline]] T* try_make() noexcept {
    place* const mine = places_.find(Atomics::known_thread_number());
    if (__builtin_expect(mine == nullptr || mine->first == nullptr, 0)) return nullptr;
    return mine->pop()->object();
  }

  void recycle(T* object) noexcept {
    auto* const recycled = reinterpret_cast<entry*>(object);
    place* const mine = places_.find(Atomics::known_thread_number());
    if (__builtin_expect(mine != nullptr && mine->count() != Batch, 1)) {
      mine->push(recycled);
    } else {
      push_slowly(recycled);
    }
  }

  // Recycles several objects, with less work for each.
  void recycle(T* const* objects, size_t count) noexcept {
    place* const mine = places_.find(Atomics::known_thread_number());
    if (__builtin_expect(mine == nullptr || mine->count() + count > Batch, 0)) {
      for (size_t i = 0; i < count; ++i) recycle(objects[i]);
      return;
    }
    entry* first = mine->first;
    for (size_t i = 0; i < count; ++i) {
      auto* const recycled = reinterpret_cast<entry*>(objects[i]);
      recycled->next = first;
      first = recycled;
    }
    mine->set_first(first, mine->count() + static_cast<uint32_t>(count));
  }

  // Number of objects that have been made and not recycled. Exact if no thread makes or recycles
  // meanwhile; otherwise an estimate. Not for fast paths.
  size_t in_use() const {
    const std::lock_guard<basic_spinlock<Atomics>> guard(lock_);
    size_t kept = spares_ + size_t{Batch} * batches_;
    for (size_t number = 0; number < places_.size(); ++number) {
      const place* const each = places_.find(number);
      if (each != nullptr) kept += each->size();
    }
    return created_ - kept;
  }

 private:
  static constexpr uint32_t chunk_size = (Batch + 1) / 2;

  struct entry {
    alignas(T) unsigned char bytes[sizeof(T)];  // first: an object's address is its entry's
    entry* next;
    entry* next_batch;  // of the first entry of a batch in the depot

    T* object() { return std::launder(reinterpret_cast<T*>(bytes)); }
  };

  // A block of constructed objects.
  class chunk {
   public:
    chunk() : entries_(base::make_aligned_array<entry>(chunk_size)) {
      for (; alive_ < chunk_size; ++alive_) new (entries_[alive_].bytes) T();
    }
    ~chunk() {
      for (size_t i = 0; i < alive_; ++i) entries_[i].object()->~T();
    }
    entry* at(size_t i) { return &entries_[i]; }

   private:
    const base::aligned_array<entry> entries_;
    size_t alive_ = 0;
  };

  // The objects of one thread, which alone writes it. Other threads read the numbers.
  struct alignas(contention_distance) place {
    entry* first = nullptr;
    entry* full = nullptr;  // a batch

    uint32_t count() const { return count_.load(std::memory_order_relaxed); }
    size_t size() const { return count() + full_count_.load(std::memory_order_relaxed); }

    // Requires an object in `first`.
    entry* pop() {
      entry* const popped = first;
      first = popped->next;
      count_.store(count() - 1, std::memory_order_relaxed);
      return popped;
    }
    // Requires fewer than Batch objects in `first`.
    void push(entry* pushed) {
      pushed->next = first;
      set_first(pushed, count() + 1);
    }
    void set_first(entry* list, uint32_t length) {
      first = list;
      count_.store(length, std::memory_order_relaxed);
    }
    void set_full(entry* batch) {
      full = batch;
      full_count_.store(batch == nullptr ? 0 : Batch, std::memory_order_relaxed);
    }

   private:
    typename Atomics::template atomic<uint32_t> count_{0};       // of `first`
    typename Atomics::template atomic<uint32_t> full_count_{0};  // of `full`
  };

  place& my_place() {
    return places_.mine([](size_t) { return std::make_unique<place>(); });
  }

  // Of a thread without objects in `first`, or whose first call this is: then it may have taken
  // over the place of an earlier thread.
  __attribute__((noinline)) entry* pop_slowly() {
    place& mine = my_place();
    if (mine.first == nullptr && mine.full != nullptr) {
      mine.set_first(mine.full, Batch);
      mine.set_full(nullptr);
    }
    if (mine.first == nullptr) take_some(mine);
    return mine.pop();
  }

  // Of a thread with Batch objects in `first`, or whose first call this is.
  __attribute__((noinline)) void push_slowly(entry* recycled) noexcept {
    place* mine;
    try {
      mine = &my_place();
    } catch (const std::bad_alloc&) {
      const std::lock_guard<basic_spinlock<Atomics>> guard(lock_);
      recycled->next = spare_;
      spare_ = recycled;
      ++spares_;
      return;
    }
    if (mine->count() == Batch) {
      if (mine->full != nullptr) give(mine->full);
      mine->set_full(mine->first);
      mine->set_first(nullptr, 0);
    }
    mine->push(recycled);
  }

  void give(entry* batch) {
    const std::lock_guard<basic_spinlock<Atomics>> guard(lock_);
    batch->next_batch = depot_;
    depot_ = batch;
    ++batches_;
  }

  // Puts at least one object into mine.first, which is empty. Throws std::bad_alloc, having done
  // nothing.
  void take_some(place& mine) {
    const std::lock_guard<basic_spinlock<Atomics>> guard(lock_);
    if (depot_ != nullptr) {
      mine.set_first(depot_, Batch);
      depot_ = depot_->next_batch;
      --batches_;
    } else if (spare_ != nullptr) {
      entry* const taken = std::exchange(spare_, spare_->next);
      --spares_;
      taken->next = nullptr;
      mine.set_first(taken, 1);
    } else {
      base::reserve_room(&chunks_, chunks_.size() + 1);
      chunks_.push_back(std::make_unique<chunk>());
      created_ += chunk_size;
      for (size_t i = chunk_size; i > 0; --i) mine.push(chunks_.back()->at(i - 1));
    }
  }

  per_thread<place, Atomics> places_;
  mutable basic_spinlock<Atomics> lock_;
  // Guarded by lock_:
  entry* depot_ = nullptr;  // batches, by next_batch
  size_t batches_ = 0;
  entry* spare_ = nullptr;  // objects that came from threads without a place
  size_t spares_ = 0;
  size_t created_ = 0;
  std::vector<std::unique_ptr<chunk>> chunks_;
};

}  // namespace lci::ds

#endif  // LCI_DS_OBJECT_POOL_H_
