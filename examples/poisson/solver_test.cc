#include "examples/poisson/solver.h"

#include <cmath>

#include "gtest/gtest.h"

namespace poisson {
namespace {

// One rank alone.
struct alone {
  alone(grid_size grid, double contrast, int slabs)
      : input(grid, contrast),
        solved(decomposition(grid, {1, 1}, 0, slabs), input, planning::estimate, network, clock) {}

  problem input;
  local_transport network;
  work_clock clock;
  solver solved;
};

TEST(Solver, OneIterationSolvesPoissonsEquation) {
  alone one({12, 9, 15}, 0, 4);
  EXPECT_GT(one.solved.rest(), 10);
  one.solved.run(1);
  EXPECT_LT(one.solved.rest(), 1e-10);
}

TEST(Solver, EachIterationLeavesTheContrastOfTheRest) {
  constexpr double contrast = 0.3;
  alone one({12, 9, 15}, contrast, 1);
  const double before = one.solved.rest();
  one.solved.run(10);
  EXPECT_LT(one.solved.rest(), before * std::pow(contrast, 9));
}

TEST(Solver, FourTimesAsNearToTheKnownSolutionWithTwiceThePoints) {
  alone coarse({16, 16, 15}, 0.3, 2);
  alone fine({32, 32, 31}, 0.3, 2);
  coarse.solved.run(15);
  fine.solved.run(15);
  const double gain = coarse.solved.error() / fine.solved.error();
  EXPECT_GT(gain, 3.5);
  EXPECT_LT(gain, 4.5);
  EXPECT_LT(fine.solved.error(), 0.02);
}

TEST(Solver, SlabsChangeNothing) {
  alone whole({8, 8, 9}, 0.3, 1);
  alone cut({8, 8, 9}, 0.3, 9);
  whole.solved.run(3);
  cut.solved.run(2);
  cut.solved.run(1);
  for (int l = 0; l < 9; ++l) {
    for (int j = 0; j < 8; ++j) {
      for (int i = 0; i < 8; ++i) {
        ASSERT_EQ(whole.solved.potential(i, j, l), cut.solved.potential(i, j, l));
      }
    }
  }
}

}  // namespace
}  // namespace poisson
