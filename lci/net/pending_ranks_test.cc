#include "lci/net/pending_ranks.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lci::net {
namespace {

using testing::UnorderedElementsAre;

// Returns the ranks that are processed. Those in `kept` stay pending.
std::vector<int> process(pending_ranks* pending, const std::vector<int>& kept) {
  std::vector<int> processed;
  pending->process_all([&](int rank) {
    processed.push_back(rank);
    for (const int each : kept) {
      if (each == rank) return true;
    }
    return false;
  });
  return processed;
}

TEST(PendingRanks, StayUntilTheyAreProcessedCompletely) {
  pending_ranks pending(4);
  EXPECT_TRUE(pending.empty());
  for (const int rank : {3, 0, 2}) pending.add(rank);
  EXPECT_TRUE(pending.contains(3));
  EXPECT_FALSE(pending.contains(1));
  EXPECT_THAT(process(&pending, {0}), UnorderedElementsAre(0, 2, 3));
  EXPECT_TRUE(pending.contains(0));
  EXPECT_FALSE(pending.contains(3));
  EXPECT_FALSE(pending.empty());
  EXPECT_THAT(process(&pending, {}), UnorderedElementsAre(0));
  EXPECT_TRUE(pending.empty());
}

TEST(PendingRanks, ARankThatIsAddedMeanwhileIsProcessedToo) {
  pending_ranks pending(3);
  pending.add(1);
  std::vector<int> processed;
  pending.process_all([&](int rank) {
    processed.push_back(rank);
    if (rank == 1) pending.add(2);
    return false;
  });
  EXPECT_THAT(processed, UnorderedElementsAre(1, 2));
  EXPECT_TRUE(pending.empty());
}

}  // namespace
}  // namespace lci::net
