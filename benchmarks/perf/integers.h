// The integers that atomic operations change, and their operands.
#ifndef BENCHMARKS_PERF_INTEGERS_H_
#define BENCHMARKS_PERF_INTEGERS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "benchmarks/perf/options.h"
#include "benchmarks/perf/payload.h"
#include "lci.hpp"

namespace perf {

// The change that the operation makes, which is_atomic().
constexpr lci::atomic_op_t change_of(operation op) {
  switch (op) {
    case operation::bit_and:
      return lci::atomic_op_t::bit_and;
    case operation::bit_or:
      return lci::atomic_op_t::bit_or;
    case operation::bit_xor:
      return lci::atomic_op_t::bit_xor;
    case operation::swap:
      return lci::atomic_op_t::swap;
    case operation::compare_swap:
      return lci::atomic_op_t::compare_swap;
    default:
      return lci::atomic_op_t::add;
  }
}

constexpr bool fetches_integer(operation op) {
  return op == operation::fetch_add || op == operation::swap || op == operation::compare_swap;
}

// An integer of 4 or 8 bytes at any address.
inline uint64_t load_integer(const void* at, size_t size) {
  if (size == sizeof(uint64_t)) {
    uint64_t value;
    std::memcpy(&value, at, sizeof(value));
    return value;
  }
  uint32_t value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

// The same of an integer that threads change by atomic operations, at an aligned address.
inline uint64_t load_target(const void* at, size_t size) {
  return size == sizeof(uint64_t)
             ? __atomic_load_n(static_cast<const uint64_t*>(at), __ATOMIC_ACQUIRE)
             : __atomic_load_n(static_cast<const uint32_t*>(at), __ATOMIC_ACQUIRE);
}
inline void store_target(void* at, uint64_t value, size_t size) {
  if (size == sizeof(uint64_t)) {
    __atomic_store_n(static_cast<uint64_t*>(at), value, __ATOMIC_RELEASE);
  } else {
    __atomic_store_n(static_cast<uint32_t*>(at), static_cast<uint32_t>(value), __ATOMIC_RELEASE);
  }
}

// The integer that a payload of this size is.
uint64_t payload_integer(const payload_key& key, size_t size);

// Checks that an integer whose bytes were those of the key `initial` is the result of one operation
// with the operand of the key `operand` (of compare_swap: which has found the initial value). It is
// read as by load_target. Throws payload_error.
void check_result(operation op, const payload_key& initial, const payload_key& operand,
                  const void* at, size_t size);

}  // namespace perf

#endif  // BENCHMARKS_PERF_INTEGERS_H_
