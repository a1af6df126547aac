// The bytes of messages that are checked.
#ifndef BENCHMARKS_PERF_PAYLOAD_H_
#define BENCHMARKS_PERF_PAYLOAD_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>

namespace perf {

// The sender of the bytes and their message. Different values have different bytes.
struct payload_key {
  uint64_t seed;
  int rank;
  int thread;
  uint64_t number;
};

// A message is not what was sent. The text names rank, size, and the first wrong byte.
class payload_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

void fill_payload(const payload_key& key, void* buffer, size_t size);
// Throws payload_error.
void check_payload(const payload_key& key, const void* buffer, size_t size);

void read_long_payload(const void* from, size_t size);

// Reads every byte, so that the bytes are in the caches of this processor when it returns.
inline void read_payload(const void* buffer, size_t size) {
  const auto* from = static_cast<const unsigned char*>(buffer);
  if (__builtin_expect(size >= 64, 0)) return read_long_payload(from, size);
  // For all that the compiler knows, what is read is used.
  if (size < sizeof(uint64_t)) {
    for (; size > 0; --size, ++from) asm volatile("" : : "r"(*from));
    return;
  }
  uint64_t word;
  for (const auto* const last = from + size - sizeof(word);; from += sizeof(word)) {
    if (from > last) from = last;  // some bytes twice
    std::memcpy(&word, from, sizeof(word));
    asm volatile("" : : "r"(word));
    if (from == last) return;
  }
}

}  // namespace perf

#endif  // BENCHMARKS_PERF_PAYLOAD_H_
