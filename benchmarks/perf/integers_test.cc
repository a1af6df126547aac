#include "benchmarks/perf/integers.h"

#include <cstdint>
#include <cstring>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace perf {
namespace {

constexpr payload_key initial_key{0, 0, 0, 7};
constexpr payload_key operand_key{0, 1, 0, 7};

std::string error_of(operation op, uint64_t result, size_t size) {
  try {
    check_result(op, initial_key, operand_key, &result, size);
  } catch (const payload_error& error) {
    return error.what();
  }
  return "no error";
}

uint64_t result_of(operation op, uint64_t initial, uint64_t operand) {
  switch (op) {
    case operation::add:
    case operation::fetch_add:
      return initial + operand;
    case operation::bit_and:
      return initial & operand;
    case operation::bit_or:
      return initial | operand;
    case operation::bit_xor:
      return initial ^ operand;
    default:
      return operand;
  }
}

TEST(integers, a_result_is_that_of_one_operation) {
  for (const operation op :
       {operation::add, operation::bit_and, operation::bit_or, operation::bit_xor,
        operation::fetch_add, operation::swap, operation::compare_swap}) {
    for (const size_t size : {size_t{4}, size_t{8}}) {
      SCOPED_TRACE(std::string(name_of(op)) + " of " + std::to_string(size));
      const uint64_t initial = payload_integer(initial_key, size);
      const uint64_t right = result_of(op, initial, payload_integer(operand_key, size));
      EXPECT_EQ(error_of(op, right, size), "no error");
      EXPECT_THAT(error_of(op, right ^ 1, size),
                  ::testing::HasSubstr("wrong data: after operation 7 on " + std::to_string(size) +
                                       " bytes by rank 1, thread 0, the integer is 0x"));
      // An operation that was lost.
      EXPECT_NE(error_of(op, initial, size), "no error");
    }
  }
}

TEST(integers, one_of_4_bytes_ends_there) {
  const uint64_t bytes = 0x1122334455667788;
  uint32_t lower;
  std::memcpy(&lower, &bytes, sizeof(lower));
  EXPECT_EQ(load_integer(&bytes, 4), lower);
  EXPECT_EQ(load_integer(&bytes, 8), bytes);
  EXPECT_LE(payload_integer(initial_key, 4), UINT32_MAX);
  EXPECT_EQ(load_target(&bytes, 4), lower);
  EXPECT_EQ(load_target(&bytes, 8), bytes);
}

TEST(integers, a_store_changes_only_its_bytes) {
  constexpr uint64_t ones = ~uint64_t{0};
  uint64_t stored[2] = {ones, ones};
  store_target(&stored[0], 0x1122334455667788, 8);
  EXPECT_EQ(stored[0], 0x1122334455667788u);
  EXPECT_EQ(stored[1], ones);
  auto* const half = reinterpret_cast<char*>(&stored[1]) + 4;
  store_target(half, 0x1122334455667788, 4);
  EXPECT_EQ(load_target(half, 4), 0x55667788u);
  uint32_t untouched;
  std::memcpy(&untouched, &stored[1], sizeof(untouched));
  EXPECT_EQ(untouched, UINT32_MAX);
}

}  // namespace
}  // namespace perf
