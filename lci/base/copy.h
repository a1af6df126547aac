// Copies of a few bytes.
#ifndef LCI_BASE_COPY_H_
#define LCI_BASE_COPY_H_

#include <cstddef>
#include <cstring>

namespace lci::base {

// std::memcpy for a few bytes: inline, and null pointers are valid for 0 bytes. Copies at most 8
// bytes at a time: a load that is wider than recent stores to the same bytes must wait for them.
[[gnu::always_inline]] inline void copy_short(void* to, const void* from, size_t size) {
  auto* const t = static_cast<unsigned char*>(to);
  const auto* const f = static_cast<const unsigned char*>(from);
  if (__builtin_expect(size >= 8, 1)) {
    for (size_t at = 0; at + 8 < size; at += 8) std::memcpy(t + at, f + at, 8);
    std::memcpy(t + size - 8, f + size - 8, 8);
  } else if (size >= 4) {
    std::memcpy(t, f, 4);
    std::memcpy(t + size - 4, f + size - 4, 4);
  } else if (size > 0) {
    t[0] = f[0];
    t[size / 2] = f[size / 2];
    t[size - 1] = f[size - 1];
  }
}

// std::memcpy for sizes that are mostly small.
inline void copy_bytes(void* to, const void* from, size_t size) {
  if (__builtin_expect(size > 32, 0)) {
    std::memcpy(to, from, size);
  } else {
    copy_short(to, from, size);
  }
}

}  // namespace lci::base

#endif  // LCI_BASE_COPY_H_
