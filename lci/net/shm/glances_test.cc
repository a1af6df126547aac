// Beyond the conformance suite: glances that replace polls (device::seems_idle).
#include <cstddef>
#include <cstdint>

#include "lci/net/shm/backend.h"
#include "lci/testing/conformance/suite.h"

namespace lci::net::conformance {
namespace {

class ShmGlances : public Conformance {};

// Everybody waits until that rank has sent a number to rank 0.
void send_from(rank_under_test& self, int sender, uint64_t number) {
  if (self.rank == sender) {
    op message;
    message.inject = true;
    message.buffer = &number;
    message.size = sizeof(number);
    EXPECT_TRUE(self.dev.post(message).is_done());
  }
  self.barrier();
}

// One poll. The number of messages that it has found, which are from that rank.
size_t poll(rank_under_test& self, int expected_sender) {
  completion found[4];
  size_t count = 0;
  static_cast<void>(self.dev.poll(found, 4, &count));
  for (size_t i = 0; i < count; ++i) {
    EXPECT_EQ(found[i].rank, expected_sender);
    self.dev.release(found[i]);
  }
  return count;
}

TEST_P(ShmGlances, AGlanceSeesTheNextMessageOfTheSameRank) {
  run([](rank_under_test& self) {
    EXPECT_FALSE(self.dev.seems_idle()) << "nothing is likely yet";
    self.barrier();
    for (uint64_t i = 0; i < 100; ++i, self.barrier()) {
      send_from(self, 1, i);
      if (self.rank != 0) continue;
      EXPECT_FALSE(self.dev.seems_idle());
      EXPECT_EQ(poll(self, 1), 1u);
      EXPECT_TRUE(self.dev.seems_idle());
      EXPECT_EQ(poll(self, 1), 0u);
      EXPECT_TRUE(self.dev.seems_idle());
    }
  });
}

TEST_P(ShmGlances, APollFindsWhatAGlanceDoesNotSee) {
  run([](rank_under_test& self) {
    for (uint64_t i = 0; i < 100; ++i, self.barrier()) {
      const int sender = 1 + static_cast<int>(i % 2);
      send_from(self, sender, i);
      if (self.rank != 0) continue;
      EXPECT_EQ(self.dev.seems_idle(), i > 0) << "of the other rank";
      // Not only the ring that a glance looks at is read.
      EXPECT_EQ(poll(self, sender), 1u);
    }
  });
}

TEST_P(ShmGlances, OnlyPollsServeWhereNothingHasComeForLong) {
  run([](rank_under_test& self) {
    send_from(self, 1, 0);
    if (self.rank != 0) return;
    EXPECT_EQ(poll(self, 1), 1u);
    int polls = 0;
    while (self.dev.seems_idle() && polls < 1000) {
      EXPECT_EQ(poll(self, 1), 0u);
      ++polls;
    }
    EXPECT_GT(polls, 1);
    EXPECT_LT(polls, 100);
  });
}

INSTANTIATE_TEST_SUITE_P(Shm, ShmGlances,
                         testing::Values(backend_under_test{"shm", &shm::backend, 3}), name_of);

}  // namespace
}  // namespace lci::net::conformance
