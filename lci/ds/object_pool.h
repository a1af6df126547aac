#ifndef LCI_DS_OBJECT_POOL_H_
#define LCI_DS_OBJECT_POOL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "lci/base/cache_aligned.h"
#include "lci/base/reserve.h"
#include "lci/ds/atomics.h"
#include "lci/ds/spinlock.h"
#include "lci/ds/stealing_pool.h"

namespace lci::ds {

// Objects that are reused instead of freed: for the state of operations in progress. Once the pool
// has as many objects as were ever needed at a time, plus a few dozen per thread, no operation
// allocates. Each thread has a stock of its own (a stealing_pool whose magazines are private, as
// the pool can grow), so that threads do not contend.
//
// An object is constructed once, keeps its contents when it is recycled, and is destroyed with the
// pool.
//
// Thread safety: make and recycle by any thread at any time; an object may be recycled by another
// thread. Wait-free, except for the exchange of a batch with another thread's stock, and for an
// allocation when the pool grows or a thread uses it for the first time.
//
// Invariants
//   1. An object is made, or in stock_, or in the list spare_.
//   2. created_ is the number of objects.
template <class T, class Atomics = std_atomics>
class object_pool {
 public:
  object_pool() = default;
  object_pool(const object_pool&) = delete;
  object_pool& operator=(const object_pool&) = delete;

  // Never null. May throw std::bad_alloc.
  T* make() {
    entry* e = stock_.get();
    if (__builtin_expect(e == nullptr, 0)) e = grow();
    return e->object();
  }

  void recycle(T* object) noexcept {
    auto* e = reinterpret_cast<entry*>(object);
    try {
      stock_.put(e);
    } catch (const std::bad_alloc&) {  // this thread's first call
      const std::lock_guard<basic_spinlock<Atomics>> guard(lock_);
      e->next = spare_;
      spare_ = e;
      ++spares_;
    }
  }

  // Number of objects that have been made and not recycled. Exact if no thread makes or recycles
  // meanwhile; otherwise an estimate. Not for fast paths.
  size_t in_use() const {
    const std::lock_guard<basic_spinlock<Atomics>> guard(lock_);
    return created_ - spares_ - stock_.size();
  }

 private:
  static constexpr size_t chunk_size = 32;
  static constexpr size_t return_threshold = 256;

  struct entry {
    alignas(T) unsigned char bytes[sizeof(T)];  // first: an object's address is its entry's
    uint32_t owner;
    entry* next;

    T* object() { return std::launder(reinterpret_cast<T*>(bytes)); }
  };
  struct owner_of {
    uint32_t operator()(const entry& e) const { return e.owner; }
  };
  // A block of constructed objects.
  class chunk {
   public:
    explicit chunk(uint32_t owner) : entries_(base::make_aligned_array<entry>(chunk_size)) {
      for (; alive_ < chunk_size; ++alive_) {
        new (entries_[alive_].bytes) T();
        entries_[alive_].owner = owner;
      }
    }
    ~chunk() {
      for (size_t i = 0; i < alive_; ++i) entries_[i].object()->~T();
    }
    entry* at(size_t i) { return &entries_[i]; }

   private:
    const base::aligned_array<entry> entries_;
    size_t alive_ = 0;
  };

  __attribute__((noinline)) entry* grow() {
    const std::lock_guard<basic_spinlock<Atomics>> guard(lock_);
    if (spare_ != nullptr) {
      entry* e = spare_;
      spare_ = e->next;
      --spares_;
      return e;
    }
    base::reserve_room(&chunks_, chunks_.size() + 1);
    auto made = std::make_unique<chunk>(Atomics::thread_number());
    stock_.reserve(chunk_size);
    chunks_.push_back(std::move(made));
    created_ += chunk_size;
    chunk& newest = *chunks_.back();
    for (size_t i = chunk_size; i > 1; --i) stock_.put(newest.at(i - 1));
    return newest.at(0);
  }

  stealing_pool<entry, owner_of, Atomics, /*PrivateMagazines=*/true> stock_{return_threshold};
  mutable basic_spinlock<Atomics> lock_;
  std::vector<std::unique_ptr<chunk>> chunks_;  // guarded by lock_
  entry* spare_ = nullptr;  // guarded by lock_: objects that stock_ could not take
  size_t spares_ = 0;       // guarded by lock_
  size_t created_ = 0;      // guarded by lock_
};

}  // namespace lci::ds

#endif  // LCI_DS_OBJECT_POOL_H_
