// Memory that shares no cache line with any other: what two threads write side by side passes from
// one processor to the other all the time, although neither needs what the other has written. An
// object is so by alignas; arrays and vectors, which the heap puts anywhere, by these.
#ifndef LCI_BASE_CACHE_ALIGNED_H_
#define LCI_BASE_CACHE_ALIGNED_H_

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

namespace lci::base {

constexpr size_t cache_line_size = 64;

// For containers. (Memory begins with a line, and what is left of its last one is nobody's.)
template <class T>
class cache_aligned_allocator {
 public:
  using value_type = T;

  cache_aligned_allocator() = default;
  template <class Other>
  cache_aligned_allocator(const cache_aligned_allocator<Other>&) {}

  T* allocate(size_t count) {
    // (What can't be is refused, not wrapped.)
    if (count > (~size_t{0} - cache_line_size) / sizeof(T)) throw std::bad_alloc();
    const size_t whole =
        (count * sizeof(T) + cache_line_size - 1) / cache_line_size * cache_line_size;
    return static_cast<T*>(::operator new(whole, alignment));
  }
  void deallocate(T* memory, size_t) { ::operator delete(memory, alignment); }

  friend bool operator==(const cache_aligned_allocator&, const cache_aligned_allocator&) {
    return true;
  }
  friend bool operator!=(const cache_aligned_allocator&, const cache_aligned_allocator&) {
    return false;
  }

 private:
  static_assert(alignof(T) <= cache_line_size || alignof(T) % cache_line_size == 0);
  static constexpr std::align_val_t alignment{alignof(T) > cache_line_size ? alignof(T)
                                                                           : cache_line_size};
};

template <class T>
using aligned_vector = std::vector<T, cache_aligned_allocator<T>>;

// An array as of `new T[count]`, of elements that need not be movable.
template <class T>
struct aligned_array_deleter {
  size_t count = 0;
  void operator()(T* array) const {
    std::destroy_n(array, count);
    cache_aligned_allocator<T>().deallocate(array, count);
  }
};
template <class T>
using aligned_array = std::unique_ptr<T[], aligned_array_deleter<T>>;

// May throw std::bad_alloc, or what an element's constructor throws.
template <class T>
aligned_array<T> make_aligned_array(size_t count) {
  T* const memory = cache_aligned_allocator<T>().allocate(count);
  try {
    std::uninitialized_default_construct_n(memory, count);
  } catch (...) {
    cache_aligned_allocator<T>().deallocate(memory, count);
    throw;
  }
  return aligned_array<T>(memory, aligned_array_deleter<T>{count});
}

}  // namespace lci::base

#endif  // LCI_BASE_CACHE_ALIGNED_H_
