#include "lci/net/shm/inline_put_imm.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace lci::net::shm {
namespace {

// A rank of whose memory the middle is open, and a message to it.
class InlinePutImm : public testing::Test {
 protected:
  static constexpr size_t open_from = 256;
  static constexpr size_t open_size = 512;

  InlinePutImm() : slots_(new region_slot[directory_capacity]()), memory_(1024) {
    regions_.attach(slots_.get(), 1000);
    // Not the first slot.
    const auto first = regions_.open(memory_.data(), 1);
    region_ = regions_.open(memory_.data() + open_from, open_size).value();
    regions_.close(*first);
  }

  take_result take(const inline_put_imm_header& header, size_t size) {
    std::vector<unsigned char> bytes(sizeof(header) + size, 9);
    std::memcpy(bytes.data(), &header, sizeof(header));
    return take(bytes);
  }
  take_result take(const std::vector<unsigned char>& bytes) {
    return take_inline_put_imm(user_, 3, bytes.data(), bytes.size(), &last_);
  }
  // A next_put_imm behind it.
  take_result take_next(uint64_t offset, size_t size) {
    const std::vector<unsigned char> bytes(size, 9);
    return take_next_put_imm(user_, 3, last_, offset, bytes.data(), size);
  }
  auto count(unsigned char value) const {
    return static_cast<size_t>(std::count(memory_.begin(), memory_.end(), value));
  }

  std::unique_ptr<region_slot[]> slots_;
  std::vector<unsigned char> memory_;
  region_table regions_;
  local_region region_;
  region_table::user user_{regions_};
  put_place last_;
};

TEST_F(InlinePutImm, WritesTheBytesInPlace) {
  const remote_region open = regions_.remote(region_);
  ASSERT_EQ(take(make_inline_put_imm(open, 1), 200), take_result::completed);
  EXPECT_EQ(count(9), 200u);
  EXPECT_EQ(memory_[open_from], 0);
  EXPECT_EQ(memory_[open_from + 1], 9);
  EXPECT_EQ(take(make_inline_put_imm(open, open_size), 0), take_result::completed);
  EXPECT_EQ(count(9), 200u);
}

TEST_F(InlinePutImm, ClosedMemoryIsNotWritten) {
  const remote_region open = regions_.remote(region_);
  EXPECT_EQ(take(make_inline_put_imm(open, open_size - 7), 8), take_result::nothing);
  EXPECT_EQ(take(make_inline_put_imm({open.base, open.key + 1}, 0), 8), take_result::nothing);
  EXPECT_EQ(take(make_inline_put_imm({open.base + 1, open.key}, 0), 8), take_result::nothing);
  regions_.close(region_);
  EXPECT_EQ(take(make_inline_put_imm(open, 0), 8), take_result::nothing);
  EXPECT_EQ(count(0), memory_.size());
}

TEST_F(InlinePutImm, ThePlaceOfTheLastOneIsRemembered) {
  EXPECT_EQ(take_next(0, 8), take_result::nothing) << "before the first one";
  const remote_region open = regions_.remote(region_);
  ASSERT_EQ(take(make_inline_put_imm(open, 10), 1), take_result::completed);
  EXPECT_EQ(take_next(20, 8), take_result::completed);
  EXPECT_EQ(memory_[open_from + 29], 0);
  EXPECT_EQ(memory_[open_from + 30], 9);
  EXPECT_EQ(memory_[open_from + 37], 9);
  EXPECT_EQ(memory_[open_from + 38], 0);
  EXPECT_EQ(take_next(open_size - 10 - 7, 8), take_result::nothing) << "over the end";
  // Also of one whose memory is closed: the sender cannot know that.
  EXPECT_EQ(take(make_inline_put_imm({open.base, open.key + 1}, 0), 8), take_result::nothing);
  EXPECT_EQ(take_next(0, 8), take_result::nothing);
  EXPECT_EQ(count(9), 9u);
}

TEST_F(InlinePutImm, TheNextOneReachesTheSameRegionBehindTheLast) {
  const put_place last{{3, 1000}, 500, 2 * next_put_reach + 1};
  EXPECT_TRUE(last.reaches({{3, 1000}, 500}, 8));
  EXPECT_TRUE(last.reaches({{3, 1000}, 500 + next_put_reach - 1}, 8));
  EXPECT_FALSE(last.reaches({{3, 1000}, 500 + next_put_reach}, 8));
  EXPECT_FALSE(last.reaches({{3, 1000}, 499}, 8));
  EXPECT_FALSE(last.reaches({{4, 1000}, 500}, 8));
  EXPECT_FALSE(last.reaches({{3, 1001}, 500}, 8));
  const put_place end{{3, 1000}, 500, 600 + 1};
  EXPECT_TRUE(end.reaches({{3, 1000}, 592}, 8));
  EXPECT_FALSE(end.reaches({{3, 1000}, 593}, 8));
  EXPECT_FALSE(end.reaches({{3, 1000}, ~uint64_t{0}}, 8));
  EXPECT_FALSE(put_place().reaches({}, 0)) << "nothing was before";
}

TEST_F(InlinePutImm, RefusesMoreThanAnOffsetCanName) {
  EXPECT_FALSE(regions_.open(memory_.data(), max_region_size + 1).ok());
  EXPECT_TRUE(regions_.open(memory_.data(), max_region_size).ok());
}

// A peer may write anything: only open memory changes, and nothing is read beyond the message (the
// address sanitizer watches).
TEST_F(InlinePutImm, WhateverAPeerWritesOnlyOpenMemoryChanges) {
  std::mt19937_64 random(20261122);
  const remote_region open = regions_.remote(region_);
  int completed = 0;
  int malformed = 0;
  for (int i = 0; i < 100000; ++i) {
    inline_put_imm_header header = make_inline_put_imm(open, random() % 600);
    if (random() % 8 == 0) header.key = random();
    if (random() % 8 == 0) header.place = random();
    std::vector<unsigned char> bytes(random() % 100, 7);
    std::copy_n(reinterpret_cast<const unsigned char*>(&header),
                std::min(bytes.size(), sizeof(header)), bytes.begin());
    const take_result result = take(bytes);
    EXPECT_EQ(result == take_result::malformed, bytes.size() < sizeof(header));
    completed += result == take_result::completed;
    malformed += result == take_result::malformed;
  }
  EXPECT_GT(completed, 1000);
  EXPECT_GT(malformed, 1000);
  const auto all_zero = [this](size_t from, size_t to) {
    return std::all_of(memory_.begin() + static_cast<std::ptrdiff_t>(from),
                       memory_.begin() + static_cast<std::ptrdiff_t>(to),
                       [](unsigned char c) { return c == 0; });
  };
  EXPECT_TRUE(all_zero(0, open_from));
  EXPECT_TRUE(all_zero(open_from + open_size, memory_.size()));
}

}  // namespace
}  // namespace lci::net::shm
