// Copies of a few bytes, and of data of any size.
#ifndef LCI_BASE_COPY_H_
#define LCI_BASE_COPY_H_

#include <cstddef>
#include <cstdint>
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

// glibc copies so many bytes, and more, with `rep movsb` if the processor says that it is fast.
constexpr size_t least_repeated = 2048;

// std::memcpy for at least least_repeated bytes.
void copy_many(void* to, const void* from, size_t size);

// std::memcpy for data of any size, at the same speed wherever they lie. On AMD's Zen 3, `rep movsb`
// is slower than vector instructions, and 3 to 30 times as slow if the target's place within its page
// is 1 to 31 bytes behind the source's (glibc's bug 30994). So it often is: data in shared memory
// begin with a page, and a large block of malloc 16 bytes behind one.
inline void copy_data(void* to, const void* from, size_t size) {
  if (__builtin_expect(size >= least_repeated, 0)) {
    copy_many(to, from, size);
  } else {
    std::memcpy(to, from, size);
  }
}

// The same for sizes that are mostly small. Null pointers are valid for 0 bytes.
inline void copy_bytes(void* to, const void* from, size_t size) {
  if (__builtin_expect(size > 32, 0)) {
    copy_data(to, from, size);
  } else {
    copy_short(to, from, size);
  }
}

// The same, null pointers included, with stores that bypass the caches (on x86-64): for data that the
// caches would lose again before anybody reads them. Such a store does not read its line from the
// memory first. Other threads see the bytes before all that the caller stores after the call.
void copy_past_caches(void* to, const void* from, size_t size);

// How bytes are copied to memory that another processor had last, or that is larger than the caches.
enum class store_kind : uint8_t {
  cached,       // this processor fetches each line first
  past_caches,  // non-temporal stores: the lines go to the memory, and none is fetched
};

inline void copy(store_kind stores, void* to, const void* from, size_t size) {
  (stores == store_kind::past_caches ? copy_past_caches : copy_bytes)(to, from, size);
}

#if defined(__x86_64__)
// What copy_many does on AMD's processors. Requires AVX, and at least 128 bytes.
void copy_by_vectors(void* to, const void* from, size_t size);
#endif

}  // namespace lci::base

#endif  // LCI_BASE_COPY_H_
