#include "benchmarks/perf/clock.h"

#include "gtest/gtest.h"

namespace perf {
namespace {

// Each interval lies within the next, however long the thread is interrupted in between.
TEST(clock, goes_as_fast_as_the_systems) {
  const uint64_t outer_begin = steady_nanoseconds();
  const uint64_t begin = now();
  const uint64_t inner_begin = steady_nanoseconds();
  uint64_t inner_end = inner_begin;
  while (inner_end - inner_begin < 10'000'000) inner_end = steady_nanoseconds();
  const uint64_t end = now();
  const uint64_t outer_end = steady_nanoseconds();

  const auto found = static_cast<double>(end - begin);
  EXPECT_GE(found * 1.001, static_cast<double>(inner_end - inner_begin));
  EXPECT_LE(found * 0.999, static_cast<double>(outer_end - outer_begin));
}

TEST(clock, never_goes_back) {
  uint64_t last = now();
  for (int i = 0; i < 100'000; ++i) {
    const uint64_t next = now();
    ASSERT_GE(next, last);
    last = next;
  }
}

TEST(clock, a_look_costs_something) { EXPECT_GT(cost_of_now(), 0); }

}  // namespace
}  // namespace perf
