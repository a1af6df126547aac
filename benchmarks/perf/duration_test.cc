#include "benchmarks/perf/duration.h"

#include "gtest/gtest.h"

namespace perf {
namespace {

// A program with a start that takes some time, and iterations that take some. The system may hold up
// one of its runs.
struct paced {
  uint64_t start_ns;
  uint64_t iteration_ns;
  int held_up_run = -1;  // counted from 0
  uint64_t held_up_ns = 0;
  uint64_t total_ns = 0;
  int runs = 0;

  uint64_t find(double seconds) {
    return iterations_in(seconds, [this](uint64_t n) {
      uint64_t taken = start_ns + n * iteration_ns;
      if (runs++ == held_up_run) taken += held_up_ns;
      total_ns += taken;
      return taken;
    });
  }
};

TEST(iterations_in, fills_the_time) {
  EXPECT_EQ((paced{0, 1000}.find(0.5)), 500000U);
  EXPECT_EQ((paced{0, 7}.find(0.001)), 142857U);
  const uint64_t with_start = paced{20000, 1000}.find(0.5);
  EXPECT_GT(with_start, 490000U);
  EXPECT_LE(with_start, 500000U);
}

TEST(iterations_in, takes_no_longer_itself_than_a_run) {
  for (const uint64_t iteration_ns : {1, 20, 100, 999, 1000000, 90000000}) {
    paced program{0, iteration_ns};
    program.find(1);
    EXPECT_LE(program.total_ns, 1200000000U) << iteration_ns;
  }
}

TEST(iterations_in, is_not_misled_by_a_run_that_was_held_up) {
  for (int run = 0; run < 5; ++run) {
    for (const uint64_t held_up_ns : {16000000, 200000000}) {
      const uint64_t found = paced{20000, 1000, run, held_up_ns}.find(0.15);
      EXPECT_GT(found, 140000U) << run << ": " << held_up_ns;
      EXPECT_LE(found, 150000U) << run << ": " << held_up_ns;
    }
  }
}

TEST(iterations_in, is_at_least_one) { EXPECT_EQ((paced{0, 2000000000}.find(0.5)), 1U); }

TEST(iterations_in, ends_where_the_clock_stands_still) {
  EXPECT_EQ((paced{0, 0}.find(0.5)), uint64_t{1} << 40);
}

}  // namespace
}  // namespace perf
