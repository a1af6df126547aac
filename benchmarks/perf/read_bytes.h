// What a program does with a message that it uses. Also for the programs of the comparison, which
// are built without the library.
#ifndef BENCHMARKS_PERF_READ_BYTES_H_
#define BENCHMARKS_PERF_READ_BYTES_H_

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace perf {

// Reads every byte, so that the bytes are in the caches of this processor when it returns.
inline void read_bytes(const void* buffer, size_t size) {
  const auto* const from = static_cast<const unsigned char*>(buffer);
  unsigned char here[1024];
  for (size_t at = 0; at < size; at += sizeof(here)) {
    std::memcpy(here, from + at, std::min(sizeof(here), size - at));
    // For all that the compiler knows, what is read is used.
    asm volatile("" : : "r"(here) : "memory");
  }
}

}  // namespace perf

#endif  // BENCHMARKS_PERF_READ_BYTES_H_
