#include "lci/net/shm/lane_failures.h"

#include <atomic>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace lci::net::shm {
namespace {

TEST(LaneFailures, TheLastLaneReports) {
  lane_failures failures(3, 2);
  EXPECT_EQ(failures.version(), 0u);
  EXPECT_FALSE(failures.is_pending());
  failures.announce(1);
  EXPECT_NE(failures.version(), 0u);
  EXPECT_TRUE(failures.is_announced(1));
  EXPECT_FALSE(failures.is_announced(2));
  EXPECT_TRUE(failures.is_pending());
  EXPECT_FALSE(failures.settle(1));
  EXPECT_TRUE(failures.is_pending());
  EXPECT_TRUE(failures.settle(1));
  EXPECT_FALSE(failures.is_pending());
}

TEST(LaneFailures, ASecondAnnouncementHasNoEffect) {
  lane_failures failures(1, 1);
  failures.announce(0);
  const uint32_t version = failures.version();
  failures.announce(0);
  EXPECT_EQ(failures.version(), version);
  EXPECT_TRUE(failures.settle(0));
  EXPECT_FALSE(failures.is_pending());
}

TEST(LaneFailures, LanesThatSettleAtTheSameTimeReportOnce) {
  constexpr uint32_t lanes = 4;
  constexpr int ranks = 1000;
  lane_failures failures(ranks, lanes);
  std::atomic<int> reports{0};
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < lanes; ++i) {
    threads.emplace_back([&] {
      for (int r = 0; r < ranks; ++r) {
        failures.announce(r);
        if (failures.settle(r)) ++reports;
      }
    });
  }
  for (std::thread& one : threads) one.join();
  EXPECT_EQ(reports, ranks);
  EXPECT_EQ(failures.version(), static_cast<uint32_t>(ranks));
  EXPECT_FALSE(failures.is_pending());
}

}  // namespace
}  // namespace lci::net::shm
