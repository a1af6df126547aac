// Memory that shares no cache line with other memory. A line that two threads write moves between
// their processors all the time, even if neither thread needs the other's data. A single object is
// aligned by alignas; arrays and vectors, which the heap may place anywhere, are aligned by the
// types below.
#ifndef LCI_BASE_CACHE_ALIGNED_H_
#define LCI_BASE_CACHE_ALIGNED_H_

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

namespace lci::base {

constexpr size_t cache_line_size = 64;

// Allocator for containers. (Memory begins at a cache line, and the rest of its last line stays
// unused.)
template <class T>
class cache_aligned_allocator {
 public:
  using value_type = T;

  cache_aligned_allocator() = default;
  template <class Other>
  cache_aligned_allocator(const cache_aligned_allocator<Other>&) {}

  T* allocate(size_t count) {
    // Reject a size that would overflow.
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

// An array as of `new T[count]`; its elements need not be movable.
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

// May throw std::bad_alloc, or an exception of an element's constructor.
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
