#include "benchmarks/threads/spread.h"

#include "gtest/gtest.h"

namespace perf {
namespace {

spread of(std::initializer_list<double> values) {
  spread all;
  for (const double value : values) all.add(value);
  return all;
}

TEST(spread, of_nothing_is_nothing) {
  const spread none;
  EXPECT_EQ(none.count(), 0U);
  EXPECT_EQ(none.mean(), 0);
  EXPECT_EQ(none.min(), 0);
  EXPECT_EQ(none.max(), 0);
  EXPECT_EQ(none.standard_deviation(), 0);
  EXPECT_EQ(none.relative_deviation(), 0);
}

TEST(spread, of_one_value_is_that) {
  const spread one = of({-3});
  EXPECT_EQ(one.count(), 1U);
  EXPECT_EQ(one.mean(), -3);
  EXPECT_EQ(one.min(), -3);
  EXPECT_EQ(one.max(), -3);
  EXPECT_EQ(one.standard_deviation(), 0);
}

TEST(spread, of_several_values) {
  const spread all = of({2, 4, 4, 4, 5, 5, 7, 9});
  EXPECT_EQ(all.count(), 8U);
  EXPECT_DOUBLE_EQ(all.mean(), 5);
  EXPECT_DOUBLE_EQ(all.min(), 2);
  EXPECT_DOUBLE_EQ(all.max(), 9);
  EXPECT_DOUBLE_EQ(all.standard_deviation(), 2);
  EXPECT_DOUBLE_EQ(all.relative_deviation(), 0.4);
}

TEST(spread, is_the_same_in_parts) {
  spread all = of({2, 4, 4});
  all.add(of({}));
  all.add(of({4, 5, 5, 7, 9}));
  spread other = of({});
  other.add(all);
  EXPECT_EQ(other.count(), 8U);
  EXPECT_DOUBLE_EQ(other.mean(), 5);
  EXPECT_EQ(other.min(), 2);
  EXPECT_EQ(other.max(), 9);
  EXPECT_DOUBLE_EQ(other.standard_deviation(), 2);
}

// Where the mean of the squares less the square of the mean would have no digits left.
TEST(spread, of_large_values_that_are_near_each_other) {
  EXPECT_NEAR(of({1e12 + 1, 1e12 + 2, 1e12 + 3, 1e12 + 4}).standard_deviation(), 1.118034, 1e-6);
}

}  // namespace
}  // namespace perf
