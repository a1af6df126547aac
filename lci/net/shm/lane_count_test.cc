#include "lci/net/shm/lane_count.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace lci::net::shm {
namespace {

// A rank that may use `count` processors, a set that `set` names.
mailbox_offer rank_with(uint64_t count, uint64_t set, uint32_t wanted = 0) {
  mailbox_offer offer = {};
  offer.processors = set;
  offer.processor_count = count;
  offer.wanted_lanes = wanted;
  offer.lanes = most_lanes(offer);
  return offer;
}

TEST(LaneCount, RanksThatShareProcessorsDivideThem) {
  EXPECT_EQ(choose_lanes({rank_with(16, 1)}), 64u);
  EXPECT_EQ(choose_lanes({rank_with(16, 1), rank_with(16, 1)}), 32u);
  EXPECT_EQ(choose_lanes(std::vector<mailbox_offer>(16, rank_with(16, 1))), 1u);
  EXPECT_EQ(choose_lanes(std::vector<mailbox_offer>(17, rank_with(16, 1))), 1u);
}

TEST(LaneCount, RanksWithProcessorsOfTheirOwnUseAll) {
  EXPECT_EQ(choose_lanes({rank_with(8, 1), rank_with(8, 2)}), 32u);
  EXPECT_EQ(choose_lanes({rank_with(6, 1), rank_with(6, 2)}), 16u) << "a power of two";
  EXPECT_EQ(choose_lanes({rank_with(1, 1), rank_with(8, 2)}), 1u) << "the least";
}

TEST(LaneCount, TheProgramsChoiceComesFirst) {
  EXPECT_EQ(choose_lanes({rank_with(2, 1, 4), rank_with(2, 1, 4)}), 4u);
  EXPECT_EQ(choose_lanes({rank_with(64, 1, 1), rank_with(64, 2, 1)}), 1u);
  EXPECT_EQ(choose_lanes({rank_with(2, 1, 7)}), 4u);
  EXPECT_EQ(choose_lanes({rank_with(2, 1, 64)}), 64u);
}

TEST(LaneCount, NoRankHasMoreThanItsMailboxHolds) {
  mailbox_offer small = rank_with(64, 1);
  small.lanes = 2;
  EXPECT_EQ(choose_lanes({rank_with(64, 1), small}), 2u);
}

TEST(LaneCount, TheProcessorsAreThoseOfThisProcess) {
  mailbox_offer offer = {};
  set_processors(&offer);
  EXPECT_GE(offer.processor_count, 1u);
  mailbox_offer again = {};
  set_processors(&again);
  EXPECT_EQ(again.processors, offer.processors);
}

}  // namespace
}  // namespace lci::net::shm
