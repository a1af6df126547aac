#include "lci/base/rank_list.h"

#include "gtest/gtest.h"

namespace lci::base {
namespace {

TEST(RankList, NumbersInARowAreARange) {
  EXPECT_EQ(number_ranges({}), "");
  EXPECT_EQ(number_ranges({7}), "7");
  EXPECT_EQ(number_ranges({0, 1}), "0-1");
  EXPECT_EQ(number_ranges({0, 1, 2, 5}), "0-2, 5");
  EXPECT_EQ(number_ranges({1, 3, 5, 6}), "1, 3, 5-6");
}

TEST(RankList, SaysRankOrRanks) {
  EXPECT_EQ(rank_list({5}), "rank 5");
  EXPECT_EQ(rank_list({0, 1, 2, 5}), "ranks 0-2, 5");
}

}  // namespace
}  // namespace lci::base
