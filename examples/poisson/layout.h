// Bytes of a buffer that a message is made of, and how they are moved by hand.
#ifndef EXAMPLES_POISSON_LAYOUT_H_
#define EXAMPLES_POISSON_LAYOUT_H_

#include <cstddef>

namespace poisson {

// `count2` groups, `stride2` bytes from one group's start to the next, of `count` pieces, `stride`
// bytes apart, of `length` bytes each.
struct layout {
  size_t offset = 0;  // of the first byte
  size_t length = 0;
  size_t count = 1;
  size_t stride = 0;
  size_t count2 = 1;
  size_t stride2 = 0;

  constexpr size_t size() const { return length * count * count2; }  // bytes
  constexpr bool is_contiguous() const { return count == 1 && count2 == 1; }
};

// Copies the bytes of a layout of `buffer`, in their order, to size() bytes at `to`.
void pack(const char* buffer, const layout& from, char* to);
// And back.
void unpack(const char* from, char* buffer, const layout& to);

}  // namespace poisson

#endif  // EXAMPLES_POISSON_LAYOUT_H_
