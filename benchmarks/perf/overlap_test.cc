#include "benchmarks/perf/overlap.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace perf {
namespace {

TEST(overlap, is_the_part_of_the_pure_time_that_computation_hides) {
  EXPECT_DOUBLE_EQ(overlap_percent(10, 10, 10), 100);  // no time but that of the computation
  EXPECT_DOUBLE_EQ(overlap_percent(10, 20, 10), 0);    // one after the other
  EXPECT_DOUBLE_EQ(overlap_percent(10, 12.5, 10), 75);
  EXPECT_DOUBLE_EQ(overlap_percent(10, 9, 8),
                   90);  // the computation may take less than the operation
}

TEST(overlap, is_never_below_nothing) {
  EXPECT_EQ(overlap_percent(10, 25, 10), 0);
  EXPECT_EQ(overlap_percent(0, 5, 4), 0);
}

TEST(overlap, figures_are_means_of_an_operation) {
  overlap_times all;
  all.pure = 40000;
  all.start = 2000;
  all.compute = 36000;
  all.progress = 3000;
  all.wait = 5000;
  all.total = 46000;
  const overlap_figures result = overlap_from(all, 4);
  EXPECT_DOUBLE_EQ(result.total_us, 11.5);
  EXPECT_DOUBLE_EQ(result.start_us, 0.5);
  EXPECT_DOUBLE_EQ(result.compute_us, 9);
  EXPECT_DOUBLE_EQ(result.progress_us, 0.75);
  EXPECT_DOUBLE_EQ(result.wait_us, 1.25);
  EXPECT_DOUBLE_EQ(result.percent, 75);
  EXPECT_EQ(overlap_from({}, 0).percent, 0);
}

TEST(computation, has_steps_in_proportion_to_the_time) {
  const computation work;
  EXPECT_EQ(work.steps_in(0), 1U);
  const uint64_t few = work.steps_in(10'000);
  const uint64_t many = work.steps_in(1'000'000);
  // A step is a multiplication and an addition, so 10 us are more than one and less than a million.
  EXPECT_GT(few, 1U);
  EXPECT_LT(few, 1'000'000U);
  EXPECT_GE(many, 100 * few);
  EXPECT_LE(many, 100 * (few + 1));
}

}  // namespace
}  // namespace perf
