#ifndef LCI_DS_MPMC_ARRAY_H_
#define LCI_DS_MPMC_ARRAY_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <type_traits>
#include <vector>

#include "lci/ds/atomics.h"
#include "lci/ds/spinlock.h"

namespace lci::ds {

// An array that grows, is rarely written and constantly read (SC'25 paper, section 5.1.1). Each
// growth makes an array of twice the length; old arrays are kept until the end, as a reader may
// still use one. Elements that were never set are T().
//
// Thread safety: every member by any thread at any time. get is wait-free, set takes a lock.
//
// Invariants
//   1. Writers hold lock_. They write the newest array only.
//   2. An array is complete before current_ points to it (R1), so a reader that sees it (A1) sees
//      every set that had returned before. A reader in an older array may miss sets that are in
//      progress, but not those.
template <class T, class Atomics = std_atomics>
class mpmc_array {
  static_assert(std::is_trivially_copyable<T>::value, "elements are atomics");

 public:
  mpmc_array() = default;
  mpmc_array(const mpmc_array&) = delete;
  mpmc_array& operator=(const mpmc_array&) = delete;

  // Returns T() for an index that was never set.
  T get(size_t index) const {
    const array* now = current_.load(std::memory_order_acquire);  // A1
    if (index >= now->length) return T();
    return now->elements()[index].load(std::memory_order_acquire);  // A2: pairs with R2
  }

  // If the call throws std::bad_alloc, nothing has changed.
  void set(size_t index, T value) {
    const std::lock_guard<basic_spinlock<Atomics>> guard(lock_);
    array* now = current_.load(std::memory_order_relaxed);
    if (index >= now->length) now = grow(*now, index + 1);
    now->elements()[index].store(value,
                                 std::memory_order_release);  // R2: publishes what it points to
  }

 private:
  using element = typename Atomics::template atomic<T>;

  // The elements follow the header, so that reading one takes two dependent loads.
  struct alignas(element) array {
    size_t length;
    element* elements() { return reinterpret_cast<element*>(this + 1); }
    const element* elements() const { return reinterpret_cast<const element*>(this + 1); }
  };
  struct destroy {
    void operator()(array* old) const {
      std::destroy_n(old->elements(), old->length);
      ::operator delete(static_cast<void*>(old));
    }
  };
  static_assert(alignof(element) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);

  array* grow(const array& old, size_t needed) {
    size_t length = std::max<size_t>(16, old.length);
    while (length < needed) length *= 2;
    all_.reserve(all_.size() + 1);
    auto* grown = new (::operator new(sizeof(array) + length * sizeof(element))) array{length};
    all_.emplace_back(grown);
    for (size_t i = 0; i < length; ++i) {
      const bool known = i < old.length;
      new (&grown->elements()[i])
          element(known ? old.elements()[i].load(std::memory_order_relaxed) : T());
    }
    current_.store(grown, std::memory_order_release);  // R1
    return grown;
  }

  // That of the beginning has no elements, so that get() need not ask whether there is one.
  static inline array none_{0};
  typename Atomics::template atomic<array*> current_{&none_};
  basic_spinlock<Atomics> lock_;
  std::vector<std::unique_ptr<array, destroy>> all_;  // guarded by lock_
};

}  // namespace lci::ds

#endif  // LCI_DS_MPMC_ARRAY_H_
