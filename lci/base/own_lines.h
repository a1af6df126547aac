// Memory that shares no cache line with any other: what two threads write side by side passes from
// one processor to the other all the time, although neither needs what the other has written. An
// object is so by alignas; arrays and vectors, which the heap puts anywhere, by these.
#ifndef LCI_BASE_OWN_LINES_H_
#define LCI_BASE_OWN_LINES_H_

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

namespace lci::base {

constexpr size_t line_size = 64;

// For containers. (Memory begins with a line, and what is left of its last one is nobody's.)
template <class T>
class line_allocator {
 public:
  using value_type = T;

  line_allocator() = default;
  template <class Other>
  line_allocator(const line_allocator<Other>&) {}

  T* allocate(size_t count) {
    // (What can't be is refused, not wrapped.)
    if (count > (~size_t{0} - line_size) / sizeof(T)) throw std::bad_alloc();
    const size_t whole = (count * sizeof(T) + line_size - 1) / line_size * line_size;
    return static_cast<T*>(::operator new(whole, alignment));
  }
  void deallocate(T* memory, size_t) { ::operator delete(memory, alignment); }

  friend bool operator==(const line_allocator&, const line_allocator&) { return true; }
  friend bool operator!=(const line_allocator&, const line_allocator&) { return false; }

 private:
  static_assert(alignof(T) <= line_size || alignof(T) % line_size == 0);
  static constexpr std::align_val_t alignment{alignof(T) > line_size ? alignof(T) : line_size};
};

template <class T>
using line_vector = std::vector<T, line_allocator<T>>;

// An array as of `new T[count]`, of elements that need not be movable.
template <class T>
struct end_line_array {
  size_t count = 0;
  void operator()(T* array) const {
    std::destroy_n(array, count);
    line_allocator<T>().deallocate(array, count);
  }
};
template <class T>
using line_array = std::unique_ptr<T[], end_line_array<T>>;

// May throw std::bad_alloc, or what an element's constructor throws.
template <class T>
line_array<T> make_line_array(size_t count) {
  T* const memory = line_allocator<T>().allocate(count);
  try {
    std::uninitialized_default_construct_n(memory, count);
  } catch (...) {
    line_allocator<T>().deallocate(memory, count);
    throw;
  }
  return line_array<T>(memory, end_line_array<T>{count});
}

}  // namespace lci::base

#endif  // LCI_BASE_OWN_LINES_H_
