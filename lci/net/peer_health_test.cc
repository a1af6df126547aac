#include "lci/net/peer_health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "lci/base/log.h"

namespace lci::net {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::chrono::milliseconds interval{100};

const auto settled = [](const suspicion&) { return true; };
const auto not_settled = [](const suspicion&) { return false; };
const auto reported = [](int) { return true; };

// One peer, brought into a state by the events that lead there.
peer_health make(peer_state wanted) {
  peer_health made("test", 1,
                   wanted == peer_state::unconnected ? peer_state::unconnected : peer_state::alive,
                   interval);
  switch (wanted) {
    case peer_state::alive:
    case peer_state::unconnected:
      break;
    case peer_state::suspected:
      made.suspect(0, "reason");
      break;
    case peer_state::corrupt:
      made.corrupt(0, "reason");
      break;
    case peer_state::left:
      made.bye(0);
      break;
    case peer_state::failed:
      made.suspect(0, "reason");
      made.confirm(settled, reported);
      break;
  }
  return made;
}

constexpr peer_state all[] = {peer_state::alive,   peer_state::unconnected, peer_state::suspected,
                              peer_state::corrupt, peer_state::left,        peer_state::failed};

// Applies an event in each state, and compares with the column of the table in the header.
// `column` has the states that the event changes.
void expect_column(const std::function<bool(peer_health&)>& event,
                   const std::map<peer_state, peer_state>& column) {
  for (const peer_state before : all) {
    peer_health health = make(before);
    ASSERT_EQ(health.state(0), before);
    const auto entry = column.find(before);
    const bool changed = event(health);
    EXPECT_EQ(changed, entry != column.end()) << "from state " << static_cast<int>(before);
    EXPECT_EQ(health.state(0), entry == column.end() ? before : entry->second)
        << "from state " << static_cast<int>(before);
  }
}

TEST(PeerHealth, OnlyAnUnconnectedPeerIsConnected) {
  expect_column([](peer_health& health) { return health.connected(0); },
                {{peer_state::unconnected, peer_state::alive}});
}

TEST(PeerHealth, APeerThatMayBeAliveIsSuspected) {
  expect_column([](peer_health& health) { return health.suspect(0, "other"); },
                {{peer_state::unconnected, peer_state::suspected},
                 {peer_state::alive, peer_state::suspected}});
}

TEST(PeerHealth, APeerThatIsReadMayBeCorrupt) {
  expect_column([](peer_health& health) { return health.corrupt(0, "other"); },
                {{peer_state::unconnected, peer_state::corrupt},
                 {peer_state::alive, peer_state::corrupt},
                 {peer_state::suspected, peer_state::corrupt}});
}

TEST(PeerHealth, APeerThatIsReadMaySayBye) {
  expect_column([](peer_health& health) { return health.bye(0); },
                {{peer_state::unconnected, peer_state::left},
                 {peer_state::alive, peer_state::left},
                 {peer_state::suspected, peer_state::left}});
}

TEST(PeerHealth, ASettledSuspicionIsConfirmed) {
  const auto confirm = [](peer_health& health) {
    const peer_state before = health.state(0);
    health.confirm(settled, reported);
    EXPECT_FALSE(health.has_suspects());
    return health.state(0) != before;
  };
  expect_column(confirm, {{peer_state::suspected, peer_state::failed},
                          {peer_state::corrupt, peer_state::failed}});
}

TEST(PeerHealth, OnlyACorruptPeerIsConfirmedUnsettled) {
  const auto confirm = [](peer_health& health) {
    const peer_state before = health.state(0);
    health.confirm(not_settled, reported);
    EXPECT_EQ(health.has_suspects(), health.state(0) == peer_state::suspected);
    return health.state(0) != before;
  };
  expect_column(confirm, {{peer_state::corrupt, peer_state::failed}});
}

TEST(PeerHealth, MessagesAreReadUntilThePeerIsCorruptOrGone) {
  EXPECT_TRUE(is_readable(peer_state::alive));
  EXPECT_TRUE(is_readable(peer_state::unconnected));
  EXPECT_TRUE(is_readable(peer_state::suspected));
  EXPECT_FALSE(is_readable(peer_state::corrupt));
  EXPECT_FALSE(is_readable(peer_state::left));
  EXPECT_FALSE(is_readable(peer_state::failed));
}

// The ranks that confirm() reports.
std::vector<int> confirm_all(peer_health& health) {
  std::vector<int> ranks;
  health.confirm(settled, [&](int rank) {
    ranks.push_back(rank);
    return true;
  });
  return ranks;
}

TEST(PeerHealth, AFailureIsReportedOnceInTheOrderOfSuspicion) {
  peer_health health("test", 5, peer_state::alive, interval);
  EXPECT_FALSE(health.has_suspects());
  health.suspect(3, "reason");
  health.corrupt(1, "reason");
  health.suspect(4, "reason");
  health.suspect(3, "again");
  health.corrupt(4, "again");
  EXPECT_TRUE(health.has_suspects());
  EXPECT_THAT(confirm_all(health), ElementsAre(3, 1, 4));
  EXPECT_FALSE(health.has_suspects());
  health.suspect(3, "later");
  health.corrupt(1, "later");
  EXPECT_FALSE(health.has_suspects());
  EXPECT_THAT(confirm_all(health), IsEmpty());
  EXPECT_TRUE(health.is_alive(0));
  EXPECT_TRUE(health.is_alive(2));
}

TEST(PeerHealth, AReportWithoutRoomIsRepeated) {
  peer_health health("test", 3, peer_state::alive, interval);
  for (int r = 0; r < 3; ++r) health.suspect(r, "reason");
  std::vector<int> calls;
  const auto refuse_1 = [&](int rank) {
    calls.push_back(rank);
    return rank != 1;
  };
  health.confirm(settled, refuse_1);
  EXPECT_THAT(calls, ElementsAre(0, 1, 2));
  EXPECT_EQ(health.state(0), peer_state::failed);
  EXPECT_EQ(health.state(1), peer_state::suspected);
  EXPECT_EQ(health.state(2), peer_state::failed);
  EXPECT_THAT(confirm_all(health), ElementsAre(1));
  EXPECT_EQ(health.state(1), peer_state::failed);
}

TEST(PeerHealth, AByeAmongTheMessagesThatAreStillReadEndsTheSuspicion) {
  peer_health health("test", 2, peer_state::alive, interval);
  health.suspect(0, "reason");
  health.suspect(1, "reason");
  health.bye(0);  // read before the next confirm()
  const auto read_bye = [&](const suspicion& one) { return health.bye(one.rank); };
  health.confirm(read_bye, [](int rank) {
    ADD_FAILURE() << "rank " << rank << " is reported";
    return true;
  });
  EXPECT_EQ(health.state(0), peer_state::left);
  EXPECT_EQ(health.state(1), peer_state::left);
  EXPECT_FALSE(health.has_suspects());
}

TEST(PeerHealth, AMalformedMessageAmongThoseThatAreStillReadSettles) {
  peer_health health("test", 1, peer_state::alive, interval);
  health.suspect(0, "reason");
  int reports = 0;
  health.confirm(
      [&](const suspicion& one) {
        health.corrupt(one.rank, "malformed");
        return true;
      },
      [&](int) { return ++reports > 1; });
  EXPECT_EQ(health.state(0), peer_state::corrupt);
  health.confirm(not_settled, [&](int) { return ++reports > 1; });
  EXPECT_EQ(health.state(0), peer_state::failed);
  EXPECT_EQ(reports, 2);
}

TEST(PeerHealth, AReportMayFindOtherFailures) {
  peer_health health("test", 3, peer_state::unconnected, interval);
  health.suspect(0, "reason");
  std::vector<int> calls;
  health.confirm(settled, [&](int rank) {
    calls.push_back(rank);
    if (rank < 2) health.suspect(rank + 1, "reason");
    return true;
  });
  EXPECT_THAT(calls, ElementsAre(0, 1, 2));
  EXPECT_FALSE(health.has_suspects());
}

TEST(PeerHealth, TheBackendLearnsSinceWhenAndWhy) {
  peer_health health("test", 1, peer_state::alive, interval);
  const auto before = peer_health::clock::now();
  health.suspect(0, "its process has ended");
  const auto after = peer_health::clock::now();
  bool asked = false;
  health.confirm(
      [&](const suspicion& one) {
        asked = true;
        EXPECT_EQ(one.rank, 0);
        EXPECT_EQ(one.reason, "its process has ended");
        EXPECT_GE(one.since, before);
        EXPECT_LE(one.since, after);
        return false;
      },
      reported);
  EXPECT_TRUE(asked);
}

TEST(PeerHealth, TheReasonIsKnownUntilTheFailureIsConfirmed) {
  peer_health health("test", 2, peer_state::alive, interval);
  health.suspect(1, "its process has ended");
  EXPECT_EQ(health.reason(0), "");
  EXPECT_EQ(health.reason(1), "its process has ended");
  health.corrupt(1, "it sent nonsense");
  EXPECT_EQ(health.reason(1), "it sent nonsense");
  health.confirm([](const suspicion&) { return true; }, reported);
  EXPECT_EQ(health.reason(1), "");
}

TEST(PeerHealth, TheLogNamesRankAndReason) {
  base::set_log_level(base::log_level::info);
  testing::internal::CaptureStderr();
  peer_health health("test", 8, peer_state::alive, interval);
  health.suspect(7, "its process has ended");
  const std::string first = testing::internal::GetCapturedStderr();
  testing::internal::CaptureStderr();
  health.corrupt(7, "it sent a malformed message");
  health.confirm(settled, reported);
  const std::string second = testing::internal::GetCapturedStderr();
  base::set_log_level(base::log_level::warn);
  EXPECT_THAT(first, AllOf(HasSubstr("test: rank 7 seems to have failed: its process has ended"),
                           Not(HasSubstr("warn"))));
  EXPECT_THAT(second, HasSubstr("rank 7 has failed: it sent a malformed message"));
}

TEST(PeerHealth, ChecksAreDueOnceInAnInterval) {
  const auto before = peer_health::clock::now();
  peer_health health("test", 1, peer_state::alive, interval);
  const auto start = peer_health::clock::now();
  const auto zero = peer_health::clock::duration::zero();
  EXPECT_EQ(health.check_due(before), zero);
  EXPECT_GE(health.check_due(start + interval), interval);
  EXPECT_EQ(health.check_due(start + interval), zero);
  EXPECT_EQ(health.check_due(start + 2 * interval - std::chrono::nanoseconds(1)), zero);
  EXPECT_EQ(health.check_due(start + 4 * interval), 3 * interval);
}

// A thread that posts reads the state while the polling thread changes it: it sees each state after
// what happened before the change, and the states in their order.
TEST(PeerHealth, AnyThreadReadsTheState) {
  peer_health health("test", 1, peer_state::unconnected, interval);
  int opened = 0;
  int closed = 0;
  std::atomic<bool> polls{false};
  std::thread poster([&] {
    while (!polls.load(std::memory_order_relaxed)) std::this_thread::yield();
    for (peer_state now = health.state(0); now != peer_state::failed; now = health.state(0)) {
      if (now == peer_state::alive) {
        EXPECT_EQ(opened, 1);
      }
      std::this_thread::yield();
    }
    EXPECT_EQ(closed, 1);
  });
  polls.store(true, std::memory_order_relaxed);
  opened = 1;
  health.connected(0);
  std::this_thread::yield();
  health.suspect(0, "reason");
  closed = 1;
  health.confirm(settled, reported);
  poster.join();
}

}  // namespace
}  // namespace lci::net
