#include "benchmarks/perf/payload.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_format.h"
#include "benchmarks/perf/read_bytes.h"

namespace perf {
namespace {

constexpr uint64_t odd = 0x9e3779b97f4a7c15;  // 2^64 divided by the golden ratio

// Multiply, shift, multiply: every bit of the result depends on every bit of the value.
uint64_t mixed(uint64_t value) {
  value *= odd;
  value ^= value >> 32;
  value *= odd;
  return value ^ (value >> 29);
}

uint64_t start_of(const payload_key& key) {
  return mixed(mixed(mixed(mixed(key.seed + 1) + static_cast<uint64_t>(key.rank)) +
                     static_cast<uint64_t>(key.thread)) +
               key.number);
}

// Bytes 8 * index and following.
uint64_t word(uint64_t start, size_t index) { return mixed(start + index); }

}  // namespace

void fill_payload(const payload_key& key, void* buffer, size_t size) {
  const uint64_t start = start_of(key);
  auto* to = static_cast<unsigned char*>(buffer);
  for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
    const uint64_t value = word(start, at / sizeof(uint64_t));
    std::memcpy(to + at, &value, std::min(sizeof(value), size - at));
  }
}

void check_payload(const payload_key& key, const void* buffer, size_t size) {
  const uint64_t start = start_of(key);
  const auto* from = static_cast<const unsigned char*>(buffer);
  for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
    const uint64_t value = word(start, at / sizeof(uint64_t));
    const size_t bytes = std::min(sizeof(value), size - at);
    if (std::memcmp(from + at, &value, bytes) == 0) continue;
    unsigned char wanted[sizeof(value)];
    std::memcpy(wanted, &value, sizeof(value));
    size_t wrong = at;
    while (from[wrong] == wanted[wrong - at]) ++wrong;
    throw payload_error(absl::StrFormat(
        "wrong data: message %d of %d bytes from rank %d, thread %d: the byte at offset %d is "
        "0x%02x, "
        "not 0x%02x",
        key.number, size, key.rank, key.thread, wrong, from[wrong], wanted[wrong - at]));
  }
}

void read_long_payload(const void* from, size_t size) { read_bytes(from, size); }

}  // namespace perf
