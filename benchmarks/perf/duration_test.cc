#include "benchmarks/perf/duration.h"

#include "gtest/gtest.h"

namespace perf {
namespace {

// A program with a start that takes some time, and iterations that take some.
struct paced {
  uint64_t start_ns;
  uint64_t iteration_ns;
  uint64_t total_ns = 0;

  uint64_t find(double seconds) {
    return iterations_in(seconds, [this](uint64_t n) {
      const uint64_t taken = start_ns + n * iteration_ns;
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

TEST(iterations_in, is_at_least_one) { EXPECT_EQ((paced{0, 2000000000}.find(0.5)), 1U); }

TEST(iterations_in, ends_where_the_clock_stands_still) {
  EXPECT_EQ((paced{0, 0}.find(0.5)), uint64_t{1} << 40);
}

}  // namespace
}  // namespace perf
