// Unit tests of the parts that detect failures, without devices: the links record what the parts
// ask for, and the time is that of the test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "lci/net/ibv/heartbeats.h"
#include "lci/net/ibv/monitor_ring.h"
#include "lci/net/ibv/peer_table.h"
#include "lci/net/ibv/ring_monitor.h"
#include "lci/net/ibv/wanted_connections.h"
#include "lci/net/ibv/wire.h"

namespace lci::net::ibv {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;

using clock = std::chrono::steady_clock;

// Peers.

TEST(PeerTable, OnlyAnAlivePeerAdmitsPosts) {
  const auto table = std::make_unique<peer_table>(0, 2, /*one_lock=*/true);
  peer_table& peers = *table;
  for (send_queue* queue : {&peers.messages(1), &peers.rma(1)}) queue->open(nullptr, 0, 4);
  EXPECT_TRUE(peers.messages(1).is_full());
  EXPECT_TRUE(peers.rma(1).is_full());
  peers.open(1);
  EXPECT_FALSE(peers.messages(1).is_full());
  EXPECT_FALSE(peers.rma(1).is_full());
  peers.suspect(1, "reason");
  EXPECT_TRUE(peers.messages(1).is_full());
  EXPECT_TRUE(peers.rma(1).is_full());
  peers.open(1);
  EXPECT_TRUE(peers.messages(1).is_full()) << "a suspected peer was opened";
}

TEST(PeerTable, AFailureIsSettledByAReadThatEmptiedTheQueue) {
  const auto table = std::make_unique<peer_table>(0, 3, /*one_lock=*/false);
  peer_table& peers = *table;
  std::vector<int> reported;
  const auto report = [&](int rank) {
    reported.push_back(rank);
    return true;
  };
  peers.note_empty_read();
  peers.suspect(1, "reason");
  peers.confirm_failures(report);
  EXPECT_THAT(reported, IsEmpty());
  peers.note_empty_read();
  peers.suspect(2, "reason");
  peers.confirm_failures(report);
  EXPECT_THAT(reported, ElementsAre(1));
  peers.corrupt(2, "malformed");
  peers.confirm_failures(report);
  EXPECT_THAT(reported, ElementsAre(1, 2));
}

TEST(WantedConnections, AnUnconnectedPeerIsConnectedOnceAnotherIsRetriedOrRefused) {
  wanted_connections wanted(4);
  EXPECT_EQ(wanted.refuse(0, peer_state::alive).errorcode, errorcode_t::retry_nomem);
  EXPECT_FALSE(wanted.any());
  for (const peer_state gone :
       {peer_state::suspected, peer_state::corrupt, peer_state::left, peer_state::failed}) {
    EXPECT_EQ(wanted.refuse(0, gone).errorcode, errorcode_t::fatal);
  }
  EXPECT_FALSE(wanted.any());
  EXPECT_EQ(wanted.refuse(2, peer_state::unconnected).errorcode, errorcode_t::retry_nomem);
  EXPECT_TRUE(wanted.any());
  std::vector<int> taken;
  const auto take = [&](int rank) { taken.push_back(rank); };
  wanted.take(take);
  wanted.take(take);
  EXPECT_THAT(taken, ElementsAre(2));
  EXPECT_FALSE(wanted.any());
  static_cast<void>(wanted.refuse(2, peer_state::unconnected));
  EXPECT_FALSE(wanted.any()) << "wanted again";
}

// Heartbeats.

struct recorded_heartbeats : heartbeat_links {
  bool post_heartbeat(int rank) override {
    posted.push_back(rank);
    return !refuses;
  }
  base::Status reset_heartbeat_qp(int rank, uint32_t answered) override {
    resets.emplace_back(rank, answered);
    return reset_status;
  }

  std::vector<int> posted;
  std::vector<std::pair<int, uint32_t>> resets;
  bool refuses = false;
  base::Status reset_status;
};

class Heartbeats : public testing::Test {
 protected:
  static constexpr int ranks = 4;

  Heartbeats() {
    for (int r = 0; r < ranks; ++r) peers.open(r);
  }

  peer_table peers{1, ranks, /*one_lock=*/false};
  recorded_heartbeats links;
  heartbeats probes{peers, links};
  clock::time_point now = clock::now();
};

TEST_F(Heartbeats, AllOtherRanksAreProbedOnceInAnInterval) {
  for (int i = 0; i < 4; ++i) probes.send_due(heartbeats::interval / 4, now);
  EXPECT_THAT(links.posted, ElementsAre(0, 2, 3));
  // However rarely this rank polls; ranks whose heartbeat is in flight are left out.
  links.posted.clear();
  for (const int r : {0, 2, 3}) probes.handle(r, true, now);
  probes.send_due(100 * heartbeats::interval, now);
  EXPECT_THAT(links.posted, ElementsAre(0, 2, 3));
  links.posted.clear();
  probes.send_due(heartbeats::interval, now);
  EXPECT_THAT(links.posted, IsEmpty());
}

TEST_F(Heartbeats, OnlyAlivePeersThatWereNotToldByeAreProbed) {
  peers.suspect(0, "reason");
  peers.set_said_bye(3, true);
  probes.send_due(heartbeats::interval, now);
  EXPECT_THAT(links.posted, ElementsAre(2));
  probes.handle(3, false, now);
  EXPECT_THAT(links.resets, IsEmpty());
}

TEST_F(Heartbeats, ARankIsSuspectedAfterTheTimeoutAndEnoughMisses) {
  probes.send_due(heartbeats::interval, now);
  probes.handle(2, true, now);
  probes.send_due(heartbeats::interval, now);
  links.posted.clear();
  // Long enough, but too few misses: this rank has not polled.
  clock::time_point later = now + 2 * heartbeats::failure_timeout;
  for (int miss = 1; miss < heartbeats::min_misses; ++miss) probes.handle(2, false, later);
  EXPECT_TRUE(peers.is_alive(2));
  EXPECT_EQ(links.posted, std::vector<int>(heartbeats::min_misses - 1, 2));
  EXPECT_EQ(links.resets.back(), std::make_pair(2, uint32_t{1})) << "answered once before";
  probes.handle(2, false, later);
  EXPECT_EQ(peers.state(2), peer_state::suspected);
  // Enough misses, but not for long enough.
  for (int miss = 0; miss < 2 * heartbeats::min_misses; ++miss) {
    probes.handle(3, false, now + heartbeats::failure_timeout - milliseconds(1));
  }
  EXPECT_TRUE(peers.is_alive(3));
  probes.handle(3, false, now + heartbeats::failure_timeout);
  EXPECT_EQ(peers.state(3), peer_state::suspected);
}

TEST_F(Heartbeats, AnAnswerEndsTheSilence) {
  probes.send_due(heartbeats::interval, now);
  clock::time_point later = now + heartbeats::failure_timeout;
  for (int miss = 1; miss < heartbeats::min_misses; ++miss) probes.handle(2, false, later);
  probes.handle(2, true, later);
  probes.send_due(heartbeats::interval, later);
  for (int miss = 0; miss < heartbeats::min_misses; ++miss) {
    probes.handle(2, false, later + heartbeats::failure_timeout - milliseconds(1));
  }
  EXPECT_TRUE(peers.is_alive(2));
}

TEST_F(Heartbeats, ARankWhoseQueuePairCannotBeResetIsSuspected) {
  probes.send_due(heartbeats::interval, now);
  links.reset_status = base::UnavailableError("no route");
  probes.handle(0, false, now);
  EXPECT_EQ(peers.state(0), peer_state::suspected);
}

// The ring.

using sent = std::tuple<int, connect_datagram_kind, int>;

struct recorded_ring : ring_links {
  bool send_datagram(int to, connect_datagram_kind kind, int about) override {
    if (room == 0) return false;
    --room;
    datagrams.emplace_back(to, kind, about);
    return true;
  }
  void begin_connecting(int rank) override { begun.push_back(rank); }
  void put_off_deadline(int rank) override { put_off.push_back(rank); }
  bool is_connected(int rank) const override { return connected.count(rank) > 0; }
  void stop(int rank) override { stopped.push_back(rank); }

  size_t room = 1000;
  std::vector<sent> datagrams;
  std::vector<int> begun;
  std::vector<int> put_off;
  std::vector<int> stopped;
  std::set<int> connected;
};

// Rank 0 of six ranks on six ports, so that the ring is 0 1 2 3 4 5.
class RingMonitorAlone : public testing::Test {
 protected:
  static constexpr int ranks = 6;

  static std::vector<port_address> addresses() {
    std::vector<port_address> all;
    for (int r = 0; r < ranks; ++r) {
      all.emplace_back();
      std::memset(&all.back(), 0, sizeof(port_address));
      all.back().lid = static_cast<uint16_t>(r + 1);
    }
    return all;
  }
  static connect_datagram report(connect_datagram_kind kind, int from, int about) {
    connect_datagram made = {};
    made.kind = kind;
    made.rank = static_cast<uint32_t>(from);
    made.about = static_cast<uint32_t>(about);
    return made;
  }
  int right(int rank) const { return ring.neighbor(rank, 1); }
  int left(int rank) const { return ring.neighbor(rank, -1); }
  void fail(int rank) {
    peers.suspect(rank, "reason");
    peers.note_empty_read();
    peers.confirm_failures([&](int failed) {
      monitor.close_ring(failed, now);
      return true;
    });
  }

  peer_table peers{0, ranks, /*one_lock=*/false};
  const monitor_ring ring{addresses()};
  recorded_ring links;
  ring_monitor monitor{peers, ring, links};
  clock::time_point now = clock::now();
};

TEST_F(RingMonitorAlone, ANeighborClosesTheRingAndNotifiesAllRanks) {
  const int lost = right(0);
  fail(lost);
  EXPECT_THAT(links.begun, ElementsAre(right(lost)));
  std::set<int> notified;
  for (const auto& [to, kind, about] : links.datagrams) {
    EXPECT_EQ(kind, connect_datagram_kind::failed);
    EXPECT_EQ(about, lost);
    notified.insert(to);
  }
  EXPECT_THAT(notified, ElementsAre(1, 2, 3, 4, 5)) << "also the failed rank, which may be alive";
  EXPECT_EQ(links.datagrams.size(), 5u);
  EXPECT_TRUE(monitor.has_notified_all());
}

TEST_F(RingMonitorAlone, ADistantRankDoesNothing) {
  fail(right(right(0)));
  EXPECT_THAT(links.begun, IsEmpty());
  EXPECT_THAT(links.datagrams, IsEmpty());
  EXPECT_FALSE(monitor.has_notices());
}

TEST_F(RingMonitorAlone, TheRingIsClosedAroundSeveralFailedRanks) {
  const int next = right(right(0));
  fail(next);
  fail(right(0));
  EXPECT_THAT(links.begun, ElementsAre(right(next)));
}

TEST_F(RingMonitorAlone, NoticesAreRepeatedWithGrowingPausesThenEnd) {
  fail(right(0));
  size_t rounds = 1;
  milliseconds pause{250};
  clock::time_point due = now;
  for (; monitor.has_notices(); ++rounds, pause *= 2) {
    ASSERT_EQ(links.datagrams.size(), 5 * rounds);
    due += pause;
    monitor.send_notices(due - milliseconds(1));
    ASSERT_EQ(links.datagrams.size(), 5 * rounds) << "too early";
    monitor.send_notices(due);
    ASSERT_LE(rounds, 10u) << "never ends";
  }
  EXPECT_EQ(rounds, 6u);
  EXPECT_EQ(links.datagrams.size(), 30u);
}

TEST_F(RingMonitorAlone, NoticesContinueWhereTheRoomEnded) {
  links.room = 2;
  fail(right(0));
  EXPECT_EQ(links.datagrams.size(), 2u);
  EXPECT_FALSE(monitor.has_notified_all());
  links.room = 100;
  monitor.send_notices(now);
  EXPECT_TRUE(monitor.has_notified_all());
  std::set<int> notified;
  for (const sent& each : links.datagrams) notified.insert(std::get<0>(each));
  EXPECT_EQ(notified.size(), 5u);
  EXPECT_EQ(links.datagrams.size(), 5u);
}

TEST_F(RingMonitorAlone, ARankThatWasDeclaredFailedReportsNoFurtherFailures) {
  fail(right(0));
  links.datagrams.clear();
  monitor.handle(report(connect_datagram_kind::failed, 3, 0));
  EXPECT_EQ(peers.state(3), peer_state::suspected);
  EXPECT_FALSE(monitor.has_notices());
  fail(left(0));
  EXPECT_THAT(links.datagrams, IsEmpty());
  EXPECT_THAT(links.begun.back(), left(left(0))) << "but the ring is closed";
}

TEST_F(RingMonitorAlone, ASilentRankIsAskedOfItsLiveNeighbors) {
  monitor.query_neighbors(3);
  EXPECT_THAT(links.datagrams,
              testing::UnorderedElementsAre(sent(left(3), connect_datagram_kind::query, 3),
                                            sent(right(3), connect_datagram_kind::query, 3)));
  links.datagrams.clear();
  fail(right(3));
  links.datagrams.clear();
  monitor.query_neighbors(3);
  for (const sent& each : links.datagrams) EXPECT_NE(std::get<0>(each), right(3));
}

TEST_F(RingMonitorAlone, AQueryIsAnsweredWithWhatThisRankKnows) {
  const auto ask = [&](int about) {
    links.datagrams.clear();
    monitor.handle(report(connect_datagram_kind::query, 3, about));
    return links.datagrams;
  };
  EXPECT_THAT(ask(4), IsEmpty()) << "unconnected: unknown";
  peers.open(4);
  EXPECT_THAT(ask(4), ElementsAre(sent(3, connect_datagram_kind::alive, 4)));
  peers.bye(4);
  EXPECT_THAT(ask(4), ElementsAre(sent(3, connect_datagram_kind::ended, 4)));
  fail(2);
  EXPECT_THAT(ask(2), ElementsAre(sent(3, connect_datagram_kind::failed, 2)));
}

TEST_F(RingMonitorAlone, ReportsOnlyCountAboutUnconnectedRanks) {
  peers.open(4);
  monitor.handle(report(connect_datagram_kind::failed, 3, 4));
  monitor.handle(report(connect_datagram_kind::ended, 3, 4));
  monitor.handle(report(connect_datagram_kind::alive, 3, 4));
  EXPECT_TRUE(peers.is_alive(4));
  EXPECT_THAT(links.put_off, IsEmpty());
  monitor.handle(report(connect_datagram_kind::alive, 3, 2));
  EXPECT_THAT(links.put_off, ElementsAre(2));
  monitor.handle(report(connect_datagram_kind::failed, 3, 2));
  EXPECT_EQ(peers.state(2), peer_state::suspected);
}

TEST_F(RingMonitorAlone, TheEndOfARankThatHasOurQueuePairsCountsOnlyFromItself) {
  links.connected = {4};
  monitor.handle(report(connect_datagram_kind::ended, 3, 4));
  EXPECT_EQ(peers.state(4), peer_state::unconnected);
  monitor.handle(report(connect_datagram_kind::ended, 4, 4));
  EXPECT_EQ(peers.state(4), peer_state::left);
  EXPECT_THAT(links.stopped, ElementsAre(4));
  monitor.handle(report(connect_datagram_kind::ended, 3, 5));
  EXPECT_EQ(peers.state(5), peer_state::left);
}

}  // namespace
}  // namespace lci::net::ibv
