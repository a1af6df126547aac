#include "lci/base/reserve.h"

#include <memory>
#include <vector>

#include "gtest/gtest.h"

namespace lci::base {
namespace {

TEST(Reserve, MakesRoom) {
  std::vector<int> numbers;
  reserve_room(&numbers, 1000);
  EXPECT_GE(numbers.capacity(), 1000u);
  EXPECT_TRUE(numbers.empty());
  const size_t room = numbers.capacity();
  reserve_room(&numbers, 10);
  EXPECT_EQ(numbers.capacity(), room);
}

TEST(Reserve, AVectorThatGrowsIsSeldomCopied) {
  std::vector<std::unique_ptr<int>> pointers;
  int copies = 0;
  for (int i = 0; i < 100000; ++i) {
    const size_t room = pointers.capacity();
    reserve_room(&pointers, pointers.size() + 1);
    if (pointers.capacity() != room) ++copies;
    pointers.push_back(nullptr);
  }
  EXPECT_LE(copies, 18);  // the logarithm, and 1
}

}  // namespace
}  // namespace lci::base
