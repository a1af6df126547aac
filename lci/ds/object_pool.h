#ifndef LCI_DS_OBJECT_POOL_H_
#define LCI_DS_OBJECT_POOL_H_

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "lci/ds/atomics.h"
#include "lci/ds/spinlock.h"

namespace lci::ds {

// Objects that are used again instead of being freed: for the state of operations under way, so
// that none is allocated per operation once as many exist as were ever needed at a time.
//
// An object is constructed once, keeps what it held when it was recycled, and is destroyed with the
// pool.
//
// Thread safety: make and recycle by any thread at any time, also the recycling of another thread's
// object. They block only for each other, for a few instructions (and an allocation when the pool
// grows).
template <class T, class Atomics = std_atomics>
class object_pool {
 public:
  object_pool() = default;
  object_pool(const object_pool&) = delete;
  object_pool& operator=(const object_pool&) = delete;

  // Never null. May throw std::bad_alloc.
  T* make() {
    const std::lock_guard<basic_spinlock<Atomics>> guard(lock_);
    if (free_.empty()) grow();
    T* object = free_.back();
    free_.pop_back();
    return object;
  }

  // Objects that have been made and not recycled.
  size_t in_use() const {
    const std::lock_guard<basic_spinlock<Atomics>> guard(lock_);
    return chunks_.size() * chunk_size - free_.size();
  }

  void recycle(T* object) {
    const std::lock_guard<basic_spinlock<Atomics>> guard(lock_);
    free_.push_back(object);  // grow() has reserved room for every object there is
  }

 private:
  static constexpr size_t chunk_size = 32;

  void grow() {
    free_.reserve((chunks_.size() + 1) * chunk_size);
    chunks_.emplace_back(new T[chunk_size]);
    for (size_t i = chunk_size; i > 0; --i) free_.push_back(&chunks_.back()[i - 1]);
  }

  mutable basic_spinlock<Atomics> lock_;
  std::vector<T*> free_;                      // guarded by lock_
  std::vector<std::unique_ptr<T[]>> chunks_;  // guarded by lock_
};

}  // namespace lci::ds

#endif  // LCI_DS_OBJECT_POOL_H_
