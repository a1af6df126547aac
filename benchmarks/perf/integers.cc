#include "benchmarks/perf/integers.h"

#include "absl/strings/str_format.h"

namespace perf {
namespace {

uint64_t changed(operation op, uint64_t initial, uint64_t operand) {
  switch (change_of(op)) {
    case lci::atomic_op_t::add:
      return initial + operand;
    case lci::atomic_op_t::bit_and:
      return initial & operand;
    case lci::atomic_op_t::bit_or:
      return initial | operand;
    case lci::atomic_op_t::bit_xor:
      return initial ^ operand;
    case lci::atomic_op_t::swap:
    case lci::atomic_op_t::compare_swap:
      break;
  }
  return operand;
}

}  // namespace

uint64_t payload_integer(const payload_key& key, size_t size) {
  uint64_t bytes = 0;
  fill_payload(key, &bytes, size);
  return load_integer(&bytes, size);
}

void check_result(operation op, const payload_key& initial, const payload_key& operand,
                  const void* at, size_t size) {
  uint64_t wanted = changed(op, payload_integer(initial, size), payload_integer(operand, size));
  if (size == sizeof(uint32_t)) wanted = static_cast<uint32_t>(wanted);
  const uint64_t found = load_target(at, size);
  if (found == wanted) return;
  throw payload_error(absl::StrFormat(
      "wrong data: after operation %d on %d bytes by rank %d, thread %d, the integer is 0x%x, "
      "not 0x%x",
      operand.number, size, operand.rank, operand.thread, found, wanted));
}

}  // namespace perf
