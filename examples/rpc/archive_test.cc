#include "examples/rpc/archive.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rpc {
namespace {

using ::testing::HasSubstr;

template <class T>
T there_and_back(const T& value) {
  writer out;
  out.write(value);
  const size_t size = out.size();
  const bytes memory = out.release();
  reader in(memory.get(), size);
  T result = in.read<T>();
  in.finish();
  return result;
}

enum class color : uint8_t { red = 7 };

TEST(archive, brings_back_what_was_written) {
  EXPECT_EQ(there_and_back(int64_t{-5}), -5);
  EXPECT_EQ(there_and_back(uint8_t{200}), 200);
  EXPECT_EQ(there_and_back(0.25), 0.25);
  EXPECT_EQ(there_and_back(true), true);
  EXPECT_EQ(there_and_back(color::red), color::red);
  EXPECT_EQ(there_and_back(std::string()), "");
  EXPECT_EQ(there_and_back(std::string("a\0b", 3)), std::string("a\0b", 3));
  EXPECT_EQ(there_and_back(std::vector<int>()), std::vector<int>());
  const std::vector<std::pair<std::string, std::vector<int>>> nested = {{"x", {1, 2}}, {"", {}}};
  EXPECT_EQ(there_and_back(nested), nested);
  EXPECT_EQ(there_and_back(std::string(100000, 'x')), std::string(100000, 'x'));
}

TEST(archive, writer_is_empty_after_release) {
  writer out;
  out.write(1);
  EXPECT_EQ(out.size(), sizeof(int));
  EXPECT_NE(out.release(), nullptr);
  EXPECT_EQ(out.size(), 0U);
  EXPECT_EQ(out.release(), nullptr);
  out.write(int64_t{2});
  EXPECT_EQ(out.size(), 8U);
}

TEST(archive, refuses_every_truncation) {
  writer out;
  out.write(std::vector<std::string>{"abc", "de"});
  const size_t size = out.size();
  const bytes memory = out.release();
  for (size_t length = 0; length < size; ++length) {
    reader in(memory.get(), length);
    EXPECT_THROW(in.read<std::vector<std::string>>(), bad_message) << length;
  }
}

TEST(archive, refuses_what_is_left_over_and_absurd_counts) {
  const uint64_t absurd = ~uint64_t{0};
  reader in(&absurd, sizeof(absurd));
  EXPECT_THROW(in.finish(), bad_message);
  try {
    in.read<std::vector<int>>();
    ADD_FAILURE() << "not refused";
  } catch (const bad_message& error) {
    EXPECT_THAT(error.what(), HasSubstr("only 0 bytes do"));
  }
}

TEST(archive, nothing_at_all_is_too_short_for_a_number) {
  reader in(nullptr, 0);
  in.finish();
  EXPECT_THROW(in.read<char>(), bad_message);
}

}  // namespace
}  // namespace rpc
