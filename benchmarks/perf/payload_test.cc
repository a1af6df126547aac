#include "benchmarks/perf/payload.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace perf {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr payload_key key = {1, 2, 3, 4};

std::vector<unsigned char> made(const payload_key& by, size_t size) {
  std::vector<unsigned char> bytes(size);
  fill_payload(by, bytes.data(), size);
  return bytes;
}

std::string problem(const payload_key& by, const std::vector<unsigned char>& bytes) {
  try {
    check_payload(by, bytes.data(), bytes.size());
  } catch (const payload_error& error) {
    return error.what();
  }
  return "";
}

TEST(payload, what_was_filled_is_right) {
  for (const size_t size : {0, 1, 7, 8, 9, 15, 16, 17, 1000, 4096}) {
    EXPECT_EQ(problem(key, made(key, size)), "") << size;
  }
}

TEST(payload, no_byte_beyond_the_end_is_written) {
  for (size_t size = 0; size < 20; ++size) {
    std::vector<unsigned char> bytes(32, 0xaa);
    fill_payload(key, bytes.data(), size);
    for (size_t i = size; i < bytes.size(); ++i) EXPECT_EQ(bytes[i], 0xaa) << size;
  }
}

TEST(payload, every_wrong_byte_is_found_and_named) {
  const std::vector<unsigned char> right = made(key, 37);
  for (size_t i = 0; i < right.size(); ++i) {
    std::vector<unsigned char> wrong = right;
    wrong[i] = static_cast<unsigned char>(wrong[i] ^ 0x40);
    EXPECT_THAT(problem(key, wrong), AllOf(HasSubstr("message 4 of 37 bytes from rank 2, thread 3"),
                                           HasSubstr("offset " + std::to_string(i) + " is")));
  }
}

TEST(payload, other_messages_have_other_bytes) {
  const std::vector<unsigned char> bytes = made(key, 64);
  for (const payload_key& other :
       {payload_key{2, 2, 3, 4}, payload_key{1, 1, 3, 4}, payload_key{1, 2, 4, 4},
        payload_key{1, 2, 3, 5}, payload_key{1, 3, 2, 4}, payload_key{1, 2, 4, 3}}) {
    EXPECT_NE(problem(other, bytes), "");
  }
  // Shifted by a word, as if a piece had been written to the wrong place.
  std::vector<unsigned char> shifted(bytes.begin() + 8, bytes.end());
  EXPECT_NE(problem(key, shifted), "");
}

}  // namespace
}  // namespace perf
