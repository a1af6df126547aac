#include "lci/base/cache_aligned.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "gtest/gtest.h"

namespace lci::base {
namespace {

uintptr_t offset_in_line(const void* address) {
  return reinterpret_cast<uintptr_t>(address) % cache_line_size;
}

struct counted {
  static int alive;
  static int most;  // the next constructor throws
  counted() {
    if (alive == most) throw std::runtime_error("enough");
    ++alive;
  }
  ~counted() { --alive; }
  counted(const counted&) = delete;
  counted& operator=(const counted&) = delete;
  std::atomic<char> value{7};
};
int counted::alive = 0;
int counted::most = 100;

TEST(CacheAligned, ArraysBeginWithALineAndLeaveTheLastToNobody) {
  std::vector<aligned_array<char>> arrays;
  for (size_t size = 1; size < 200; ++size) {
    arrays.push_back(make_aligned_array<char>(size));
    EXPECT_EQ(offset_in_line(arrays.back().get()), 0u);
  }
  for (size_t i = 0; i < arrays.size(); ++i) {
    for (size_t j = 0; j < arrays.size(); ++j) {
      const auto last = reinterpret_cast<uintptr_t>(&arrays[i][i]) / cache_line_size;
      if (i != j) {
        EXPECT_NE(last, reinterpret_cast<uintptr_t>(arrays[j].get()) / cache_line_size);
      }
    }
  }
}

TEST(CacheAligned, ElementsAreConstructedAndDestroyed) {
  {
    const aligned_array<counted> array = make_aligned_array<counted>(10);
    EXPECT_EQ(counted::alive, 10);
    EXPECT_EQ(array[9].value.load(), 7);
  }
  EXPECT_EQ(counted::alive, 0);
  counted::most = 5;
  EXPECT_THROW(make_aligned_array<counted>(10), std::runtime_error);
  EXPECT_EQ(counted::alive, 0);
}

TEST(CacheAligned, VectorsStayOnLinesAsTheyGrow) {
  aligned_vector<int> vector;
  for (int i = 0; i < 1000; ++i) {
    vector.push_back(i);
    EXPECT_EQ(offset_in_line(vector.data()), 0u);
  }
  EXPECT_EQ(vector[999], 999);
  EXPECT_THROW(cache_aligned_allocator<uint64_t>().allocate(~size_t{0} / 4), std::bad_alloc);
}

}  // namespace
}  // namespace lci::base
