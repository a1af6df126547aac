#ifndef LCI_RUNTIME_PROTOCOL_APPLY_ATOMIC_H_
#define LCI_RUNTIME_PROTOCOL_APPLY_ATOMIC_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "lci/api/atomic.hpp"
#include "lci/runtime/core/wire.h"

namespace lci::rt {

// Whether such an operation exists, on an integer at this address. Requests of peers are checked by
// it.
inline bool is_atomic(atomic_op_t op, uint64_t address, size_t size) {
  return op <= atomic_op_t::compare_swap && (size == 4 || size == 8) && address % size == 0;
}

template <class Integer>
Integer apply_atomic_as(void* at, atomic_op_t op, Integer value, Integer compare) {
  auto* const word = static_cast<Integer*>(at);
  switch (op) {
    case atomic_op_t::add:
      return __atomic_fetch_add(word, value, __ATOMIC_ACQ_REL);
    case atomic_op_t::bit_and:
      return __atomic_fetch_and(word, value, __ATOMIC_ACQ_REL);
    case atomic_op_t::bit_or:
      return __atomic_fetch_or(word, value, __ATOMIC_ACQ_REL);
    case atomic_op_t::bit_xor:
      return __atomic_fetch_xor(word, value, __ATOMIC_ACQ_REL);
    case atomic_op_t::swap:
      return __atomic_exchange_n(word, value, __ATOMIC_ACQ_REL);
    case atomic_op_t::compare_swap:
      break;
  }
  __atomic_compare_exchange_n(word, &compare, value, /*weak=*/false, __ATOMIC_ACQ_REL,
                              __ATOMIC_ACQUIRE);
  return compare;
}

// Operates on the integer of `size` bytes at `at`, which is_atomic(), and returns its former value.
inline uint64_t apply_atomic(void* at, atomic_op_t op, size_t size,
                             const atomic_operands& operands) {
  if (size == sizeof(uint64_t)) {
    return apply_atomic_as<uint64_t>(at, op, operands.value, operands.compare);
  }
  return apply_atomic_as<uint32_t>(at, op, static_cast<uint32_t>(operands.value),
                                   static_cast<uint32_t>(operands.compare));
}

// Writes the former value of an integer of `size` bytes to a buffer of that size; null: nowhere.
inline void store_former(void* buffer, uint64_t former, size_t size) {
  if (buffer == nullptr) return;
  if (size == sizeof(uint64_t)) {
    std::memcpy(buffer, &former, sizeof(uint64_t));
  } else {
    const auto low = static_cast<uint32_t>(former);
    std::memcpy(buffer, &low, sizeof(low));
  }
}

}  // namespace lci::rt

#endif  // LCI_RUNTIME_PROTOCOL_APPLY_ATOMIC_H_
