#include "benchmarks/perf/histogram.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace perf {
namespace {

TEST(histogram, knows_nothing_of_no_values) {
  const histogram empty;
  EXPECT_EQ(empty.count(), 0U);
  EXPECT_EQ(empty.max(), 0U);
  EXPECT_EQ(empty.mean(), 0);
  EXPECT_EQ(empty.percentile(0.5), 0U);
}

TEST(histogram, keeps_small_values_as_they_are) {
  histogram values;
  for (uint64_t value = 1; value <= 500; ++value) values.add(value);
  EXPECT_EQ(values.count(), 500U);
  EXPECT_EQ(values.max(), 500U);
  EXPECT_EQ(values.mean(), 250.5);
  EXPECT_EQ(values.percentile(0), 1U);
  EXPECT_EQ(values.percentile(0.5), 250U);
  EXPECT_EQ(values.percentile(0.9), 450U);
  EXPECT_EQ(values.percentile(0.99), 495U);
  EXPECT_EQ(values.percentile(0.999), 500U);
  EXPECT_EQ(values.percentile(1), 500U);
}

TEST(histogram, one_value_is_every_percentile) {
  for (const uint64_t value : {uint64_t{0}, uint64_t{511}, uint64_t{512}, uint64_t{513},
                               uint64_t{1234567}, (uint64_t{1} << 48) - 1}) {
    histogram values;
    values.add(value);
    EXPECT_EQ(values.percentile(0.5), value);
    EXPECT_EQ(values.percentile(1), value);
    EXPECT_EQ(values.max(), value);
  }
}

// Against sorting, over all magnitudes.
TEST(histogram, percentiles_are_off_by_less_than_four_in_a_thousand) {
  std::mt19937_64 random(7);
  histogram values;
  std::vector<uint64_t> sorted;
  for (int i = 0; i < 20000; ++i) {
    const uint64_t value = random() >> (16 + random() % 48);
    values.add(value);
    sorted.push_back(value);
  }
  std::sort(sorted.begin(), sorted.end());
  for (const double part : {0.001, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1.0}) {
    const auto rank = static_cast<size_t>(std::ceil(part * static_cast<double>(sorted.size()))) - 1;
    const uint64_t exact = sorted[rank];
    EXPECT_GE(values.percentile(part), exact) << part;
    EXPECT_LE(values.percentile(part), exact + exact / 256) << part;
  }
  EXPECT_EQ(values.percentile(1), sorted.back());
}

TEST(histogram, values_beyond_the_last_bucket_are_counted_in_it) {
  histogram values;
  values.add(1);
  values.add(~uint64_t{0} / 2);
  EXPECT_EQ(values.count(), 2U);
  EXPECT_EQ(values.max(), ~uint64_t{0} / 2);
  EXPECT_EQ(values.percentile(0.5), 1U);
  EXPECT_EQ(values.percentile(1), (uint64_t{1} << 48) - 1);
}

TEST(histogram, several_can_be_put_together) {
  histogram low;
  histogram high;
  for (uint64_t value = 1; value <= 100; ++value) low.add(value);
  for (uint64_t value = 1001; value <= 1300; ++value) high.add(value);
  histogram both = low;
  both.add(high);
  EXPECT_EQ(both.count(), 400U);
  EXPECT_EQ(both.max(), 1300U);
  EXPECT_EQ(both.percentile(0.25), 100U);
  EXPECT_EQ(both.mean(), (100 * 50.5 + 300 * 1150.5) / 400);

  // As numbers that are added up one by one.
  std::vector<uint64_t> sums = low.sums();
  const std::vector<uint64_t> more = high.sums();
  ASSERT_EQ(sums.size(), more.size());
  for (size_t i = 0; i < sums.size(); ++i) sums[i] += more[i];
  const histogram again = histogram::from(sums, 1300);
  EXPECT_EQ(again.count(), both.count());
  EXPECT_EQ(again.mean(), both.mean());
  EXPECT_EQ(again.max(), both.max());
  for (const double part : {0.1, 0.25, 0.5, 0.9}) {
    EXPECT_EQ(again.percentile(part), both.percentile(part));
  }
}

}  // namespace
}  // namespace perf
