// Failures of ranks where queue pairs are connected on demand, over simulated devices
// (fake_verbs.h). All ranks have the same port, so that the ring is in the order of ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <set>
#include <vector>

#include "lci/net/ibv/wire.h"
#include "lci/testing/fake_verbs/fake_job.h"
#include "lci/testing/fake_verbs/fake_verbs.h"

namespace lci::net::ibv {
namespace {

using testing::UnorderedElementsAreArray;

constexpr int ranks = 6;

class RingMonitor : public Device {
 protected:
  // Only ring neighbors are connected at start.
  void run(const std::function<void(rank_of_test&)>& body,
           std::chrono::seconds boot_timeout = patience) {
    configuration on_demand;
    on_demand.network.ibv_eager_ranks = 0;
    on_demand.device.attr.progress_thread = sleeps_;
    on_demand.boot_timeout = boot_timeout;
    ibv::run(ranks, on_demand, body);
  }
  // Loses the datagrams for which `loses` returns true.
  void lose(const std::function<bool(const connect_datagram&)>& loses) {
    settings_of_fake().loses = [loses](const void* bytes, size_t size) {
      connect_datagram sent;
      EXPECT_EQ(size, sizeof(sent));
      std::memcpy(&sent, bytes, sizeof(sent));
      return loses(sent);
    };
  }

  bool sleeps_ = false;
};

// Simulates the end of the process.
void fail(rank_of_test& self) { kill_fake(self.network.local_port().context.get()); }

std::vector<int> failed(const rank_of_test& self) {
  std::vector<int> reported;
  for (const completion& c : self.seen) {
    if (c.kind == completion_kind::peer_failed) reported.push_back(c.rank);
  }
  return reported;
}

// Waits until this rank has learned of all failures.
void learn_of(rank_of_test& self, const std::set<int>& lost) {
  self.poll_until([&] { return self.count(completion_kind::peer_failed) >= lost.size(); });
  EXPECT_THAT(failed(self), UnorderedElementsAreArray(lost));
}

// All live ranks send to each other, including those that have never been connected.
void talk_without(rank_of_test& self, const std::set<int>& lost) {
  const uint64_t value = 1;
  for (int to = 0; to < ranks; ++to) {
    const auto code = self.post(make_send(to, &value, sizeof(value))).errorcode;
    EXPECT_EQ(code, lost.count(to) != 0 ? errorcode_t::fatal : errorcode_t::done) << to;
  }
  self.poll_until([&] { return self.count(completion_kind::recv) == ranks - lost.size(); });
  EXPECT_THAT(failed(self), UnorderedElementsAreArray(lost));
}

// The ranks in `lost` fail at the same time, and all others learn of each failure once.
void fail_ranks(rank_of_test& self, const std::set<int>& lost) {
  if (lost.count(self.rank) != 0) {
    fail(self);
  } else {
    learn_of(self, lost);
    talk_without(self, lost);
  }
  self.barrier();
}

TEST_F(RingMonitor, AnIdleRankLearnsOfAFailedRankThatNoRankPostedTo) {
  run([](rank_of_test& self) { fail_ranks(self, {2}); });
}

TEST_F(RingMonitor, ASleepingRankNotifiesTheOthersAndIsNotified) {
  sleeps_ = true;
  run([](rank_of_test& self) { fail_ranks(self, {2}); });
}

TEST_F(RingMonitor, FailuresAreReportedAlthoughDatagramsAreLost) {
  settings_of_fake().datagrams_lost = 3;
  run([](rank_of_test& self) { fail_ranks(self, {2}); });
}

TEST_F(RingMonitor, TwoNeighborsThatFailTogetherAreReported) {
  run([](rank_of_test& self) { fail_ranks(self, {0, 5}); });
}

TEST_F(RingMonitor, ManyRanksThatFailTogetherAreReported) {
  run([](rank_of_test& self) { fail_ranks(self, {0, 1, 3, 4}); });
}

// No live rank monitors rank 2.
TEST_F(RingMonitor, ARankThatFailsTogetherWithBothNeighborsTimesOut) {
  run([](rank_of_test& self) { fail_ranks(self, {1, 2, 3}); }, std::chrono::seconds(5));
}

TEST_F(RingMonitor, APostToAFailedRankQueriesItsNeighbors) {
  // The notices that the neighbors send unasked are lost.
  std::atomic<int> asked{0};
  lose([&](const connect_datagram& sent) {
    if (sent.kind == connect_datagram_kind::query && sent.about == 2) ++asked;
    return sent.kind == connect_datagram_kind::failed && asked == 0;
  });
  std::atomic<bool> finished{false};
  run([&](rank_of_test& self) {
    if (self.rank == 2) {
      fail(self);
    } else if (self.rank == 5) {
      const uint64_t value = 1;
      EXPECT_EQ(self.post(make_send(2, &value, sizeof(value))).errorcode, errorcode_t::fatal);
      learn_of(self, {2});
      EXPECT_GT(asked, 0);
      finished = true;
    } else {
      self.poll_until([&] { return finished.load(); });
    }
    self.barrier();
  });
}

// Rank 2 fails, then ranks 3 and 4. Only rank 1, connected with rank 3 around the gap, can then
// detect the failure of rank 3.
TEST_F(RingMonitor, TheRingClosesAgain) {
  std::set<uint32_t> closed;  // senders of the replies between ranks 1 and 3
  std::atomic<bool> is_closed{false};
  lose([&](const connect_datagram& sent) {
    if (sent.kind == connect_datagram_kind::reply && sent.rank + sent.about == 4)
      closed.insert(sent.rank);
    if (closed.size() == 2) is_closed = true;
    return false;
  });
  run([&](rank_of_test& self) {
    if (self.rank == 2) {
      fail(self);
      self.barrier();
      self.barrier();
      return;
    }
    learn_of(self, {2});
    self.poll_until([&] { return is_closed.load(); });
    self.barrier();
    if (self.rank == 3 || self.rank == 4) {
      fail(self);
    } else {
      learn_of(self, {2, 3, 4});
      talk_without(self, {2, 3, 4});
    }
    self.barrier();
  });
}

// Rank 2 comes back after all others have declared it failed. It must not make them declare each
// other failed.
TEST_F(RingMonitor, ARankThatWasCutOffIsNotifiedAndTheOthersContinue) {
  std::atomic<int> gave_up{0};
  std::atomic<bool> finished{false};
  run([&](rank_of_test& self) {
    if (self.rank == 2) {
      const ibv_context* local = self.network.local_port().context.get();
      silence_fake(local, true);
      self.poll_until([&] { return gave_up == ranks - 1; });
      silence_fake(local, false);
      learn_of(self, {0, 1, 3, 4, 5});
      finished = true;
    } else {
      learn_of(self, {2});
      ++gave_up;
      self.poll_until([&] { return finished.load(); });
      talk_without(self, {2});
    }
    self.barrier();
  });
}

TEST_F(RingMonitor, ARankThatHasEndedItsDeviceHasNotFailedEvenIfItsDatagramIsLost) {
  lose([](const connect_datagram& sent) {
    return sent.kind == connect_datagram_kind::ended && sent.rank == sent.about;
  });
  std::atomic<bool> ended{false};
  std::atomic<int> notified{0};
  run([&](rank_of_test& self) {
    if (self.rank == 2) {
      self.owned_device.reset();
      ended = true;
    } else if (self.rank == 1 || self.rank == 3) {
      self.poll_until([&] { return notified == ranks - 3; });
    } else {
      self.poll_until([&] { return ended.load(); });
      const uint64_t value = 1;
      EXPECT_EQ(self.post(make_send(2, &value, sizeof(value))).errorcode, errorcode_t::fatal);
      ++notified;
    }
    self.barrier();
    EXPECT_EQ(self.count(completion_kind::peer_failed), 0u);
  });
}

}  // namespace
}  // namespace lci::net::ibv
