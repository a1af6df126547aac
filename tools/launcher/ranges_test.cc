#include "tools/launcher/ranges.h"

#include "gtest/gtest.h"

namespace lci::launcher {
namespace {

TEST(Ranges, NumbersThatFollowEachOtherAreOne) {
  EXPECT_EQ(ranges({}), "");
  EXPECT_EQ(ranges({7}), "7");
  EXPECT_EQ(ranges({0, 1}), "0-1");
  EXPECT_EQ(ranges({0, 1, 2, 5}), "0-2, 5");
  EXPECT_EQ(ranges({1, 3, 5, 6}), "1, 3, 5-6");
}

TEST(Ranges, OfRanks) {
  EXPECT_EQ(rank_ranges({5}), "rank 5");
  EXPECT_EQ(rank_ranges({0, 1, 2, 5}), "ranks 0-2, 5");
}

}  // namespace
}  // namespace lci::launcher
