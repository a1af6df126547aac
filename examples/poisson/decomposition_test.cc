#include "examples/poisson/decomposition.h"

#include <stdexcept>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace poisson {
namespace {

TEST(Decomposition, ProcessGridsAreAsSquareAsCanBe) {
  const std::vector<std::vector<int>> expected = {{1, 1}, {2, 1}, {3, 1}, {2, 2},
                                                  {5, 1}, {3, 2}, {7, 1}, {4, 2}};
  for (int ranks = 1; ranks <= 8; ++ranks) {
    const process_grid chosen = choose_process_grid(ranks);
    EXPECT_EQ((std::vector<int>{chosen.y, chosen.z}), expected[static_cast<size_t>(ranks - 1)]);
  }
}

TEST(Decomposition, SharesCoverAll) {
  for (int n : {1, 7, 64, 1000003}) {
    for (int parts : {1, 2, 3, 7, 64}) {
      int next = 0;
      for (int i = 0; i < parts; ++i) {
        const range part = share(n, parts, i);
        EXPECT_EQ(part.begin, next);
        EXPECT_GE(part.size(), n / parts);
        EXPECT_LE(part.size(), n / parts + 1);
        next = part.end;
      }
      EXPECT_EQ(next, n);
    }
  }
}

TEST(Decomposition, EveryPointAndModeHasOneRank) {
  const process_grid processes{3, 2};
  std::vector<int> points(7 * 9), modes(6 * 9);
  for (int rank = 0; rank < 6; ++rank) {
    const decomposition part({10, 7, 9}, processes, rank, 4);
    EXPECT_EQ(part.rank(), rank);
    EXPECT_EQ(part.modes(), 6);
    int planes = 0;
    for (int s = 0; s < 4; ++s) {
      EXPECT_EQ(part.slab(s).begin, planes);
      EXPECT_GE(part.slab(s).size(), 1);
      planes = part.slab(s).end;
    }
    EXPECT_EQ(planes, part.z().size());
    for (int z = part.z().begin; z < part.z().end; ++z) {
      for (int y = part.y().begin; y < part.y().end; ++y) ++points[static_cast<size_t>(z * 7 + y)];
      for (int k = part.modes_x().begin; k < part.modes_x().end; ++k) {
        ++modes[static_cast<size_t>(z * 6 + k)];
      }
    }
  }
  EXPECT_EQ(points, std::vector<int>(7 * 9, 1));
  EXPECT_EQ(modes, std::vector<int>(6 * 9, 1));
}

std::string refusal(grid_size grid, process_grid processes, int slabs) {
  try {
    decomposition(grid, processes, 0, slabs);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(Decomposition, SaysWhatDoesNotFit) {
  EXPECT_NE(refusal({9, 8, 8}, {1, 1}, 1).find("must be even"), std::string::npos);
  EXPECT_NE(refusal({8, 3, 8}, {4, 1}, 1).find("3 points in y"), std::string::npos);
  EXPECT_NE(refusal({4, 8, 8}, {4, 1}, 1).find("3 modes in x"), std::string::npos);
  EXPECT_NE(refusal({8, 8, 2}, {1, 3}, 1).find("3 ranks in z"), std::string::npos);
  EXPECT_NE(refusal({8, 8, 8}, {1, 2}, 5).find("4 planes, too few for 5 slabs"), std::string::npos);
  EXPECT_EQ(refusal({8, 8, 8}, {1, 2}, 4), "");
}

}  // namespace
}  // namespace poisson
