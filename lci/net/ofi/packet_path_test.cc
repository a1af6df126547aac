// The packet path of ranks that share an endpoint in memory in place of libfabric's, so that a test
// decides when a packet is taken, arrives, and is reported as sent.
#include "lci/net/ofi/packet_path.h"

#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lci::net::ofi {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr size_t packet_bytes = 512;
constexpr uint16_t first_token = 40;

// A message that the endpoint has taken.
struct taken_message {
  int to;
  std::vector<unsigned char> bytes;
  packet* sent;  // null: injected
};

struct memory_endpoint {
  static memory_endpoint& of(fid_ep* ep) { return *reinterpret_cast<memory_endpoint*>(ep); }
  static packet* packet_of(void* context) {
    return context == nullptr ? nullptr : &static_cast<packet&>(*static_cast<operation*>(context));
  }

  static ssize_t send(fid_ep* ep, const void* bytes, size_t size, void*, fi_addr_t to,
                      void* context) {
    if (of(ep).refuses) return -FI_EAGAIN;
    const auto* first = static_cast<const unsigned char*>(bytes);
    of(ep).taken.push_back({static_cast<int>(to), {first, first + size}, packet_of(context)});
    return 0;
  }
  static ssize_t inject(fid_ep* ep, const void* bytes, size_t size, fi_addr_t to) {
    return send(ep, bytes, size, nullptr, to, nullptr);
  }
  static ssize_t recv(fid_ep* ep, void*, size_t size, void*, fi_addr_t, void* context) {
    EXPECT_EQ(size, packet_bytes);
    of(ep).receives.push_back(packet_of(context));
    return 0;
  }

  memory_endpoint() {
    ops.send = send;
    ops.inject = inject;
    ops.recv = recv;
    ep.msg = &ops;
  }

  fid_ep ep = {};  // first: libfabric passes it
  fi_ops_msg ops = {};
  bool refuses = false;
  std::deque<taken_message> taken;
  std::deque<packet*> receives;
};

struct test_rank {
  test_rank(int rank, int ranks, packet_settings settings, size_t sends)
      : core(/*device_uid=*/0, rank, ranks),
        packets(core, (settings.token = static_cast<uint16_t>(first_token + rank), settings)) {
    const size_t receives = receives_needed(settings.credits_each, static_cast<size_t>(ranks) - 1);
    EXPECT_TRUE(core.own->outgoing.make(sends, packet_bytes, operation::kind::packet).ok());
    EXPECT_TRUE(core.own->incoming.make(receives, packet_bytes, operation::kind::receive).ok());
    core.ep = &endpoint.ep;
    EXPECT_TRUE(packets.open().ok());
    for (int r = 0; r < ranks; ++r) {
      core.addresses[static_cast<size_t>(r)] = static_cast<fi_addr_t>(r);
      packets.set_token(r, static_cast<uint16_t>(first_token + r));
    }
  }

  bool append(int to, uint32_t imm, claim by = claim::post, void* context = nullptr) {
    outgoing_record record;
    record.imm = imm;
    record.body = &imm;
    record.body_size = sizeof(imm);
    return packets.append(to, record, by, context);
  }
  // As append(), of a send that completes with its packet.
  bool append_awaited(int to, uint32_t imm) { return append(to, imm, claim::post, &contexts[imm]); }
  // The sends that a poll completes: the position of the context, negative if it failed.
  std::vector<int> completed() {
    std::array<completion, 2 * packet::most_awaited> out;
    core.sink.begin(out.data(), out.size());
    const size_t count = core.sink.end();
    std::vector<int> completed;
    for (size_t i = 0; i < count; ++i) {
      EXPECT_EQ(out[i].kind, completion_kind::send);
      const auto at = static_cast<int>(static_cast<char*>(out[i].context) - contexts.data());
      completed.push_back(out[i].failed ? -at : at);
    }
    return completed;
  }
  // The part of a poll that follows a read of an empty completion queue.
  void look() {
    ++core.looks;
    ++core.emptied;
  }
  // The part of a poll that processes pending ranks. Returns whether some are left.
  bool send_pending() {
    core.pending.process_all([this](int rank) { return packets.send_pending(rank); });
    return !core.pending.empty();
  }
  // The records of all packets that have arrived, which are released and can be received again.
  std::vector<uint32_t> read() {
    std::vector<uint32_t> read;
    while (packets.has_arrived()) {
      packet& front = packets.front();
      size_t position = front.position;
      while (position < front.size) {
        incoming_record record;
        if (!read_record(front.bytes, front.size, &position, &record)) {
          ADD_FAILURE() << "malformed";
          break;
        }
        read.push_back(record.imm);
      }
      packets.pop_front();
    }
    packets.repost_all();
    return read;
  }

  memory_endpoint endpoint;
  device_core core;
  packet_path packets;
  std::array<char, 2 * packet::most_awaited> contexts = {};
};

class PacketPath : public testing::Test {
 protected:
  static packet_settings make_settings() {
    packet_settings settings = {};
    settings.packet_bytes = packet_bytes;
    settings.coalescing_bytes = packet_bytes;
    settings.inject_bytes = 64;
    settings.sends_of_progress = 2;
    settings.credits_each = 4;
    return settings;
  }
  void start(const packet_settings& settings, size_t sends = 8) {
    for (int r = 0; r < 2; ++r) {
      ranks_[static_cast<size_t>(r)] = std::make_unique<test_rank>(r, 2, settings, sends);
    }
  }
  void SetUp() override { start(make_settings()); }

  test_rank& rank(size_t number) { return *ranks_[number]; }
  // The first message that the endpoint of rank `from` has taken arrives.
  void arrive(size_t from) {
    ASSERT_FALSE(rank(from).endpoint.taken.empty());
    const taken_message message = rank(from).endpoint.taken.front();
    rank(from).endpoint.taken.pop_front();
    arrive(message);
    if (message.sent != nullptr) rank(from).packets.sent(*message.sent);
  }
  void arrive(const taken_message& message) {
    test_rank& to = rank(static_cast<size_t>(message.to));
    ASSERT_FALSE(to.endpoint.receives.empty()) << "credits bound the messages in flight";
    packet& receive = *to.endpoint.receives.front();
    to.endpoint.receives.pop_front();
    std::memcpy(receive.bytes, message.bytes.data(), message.bytes.size());
    to.packets.receive(receive, message.bytes.size());
  }
  void arrive_all(size_t from) {
    while (!rank(from).endpoint.taken.empty()) arrive(from);
  }

  std::array<std::unique_ptr<test_rank>, 2> ranks_;
};

TEST_F(PacketPath, ALoneRecordIsInjected) {
  ASSERT_TRUE(rank(0).append(1, 7));
  ASSERT_EQ(rank(0).endpoint.taken.size(), 1u);
  EXPECT_EQ(rank(0).endpoint.taken[0].sent, nullptr);
  EXPECT_TRUE(rank(0).core.pending.empty());
  arrive(0);
  EXPECT_TRUE(rank(1).packets.has_greeted(0));
  EXPECT_THAT(rank(1).read(), ElementsAre(7));
}

TEST_F(PacketPath, RecordsBehindItCoalesceUntilAPoll) {
  for (uint32_t i = 0; i < 4; ++i) ASSERT_TRUE(rank(0).append(1, i));
  EXPECT_EQ(rank(0).endpoint.taken.size(), 1u);
  EXPECT_TRUE(rank(0).packets.is_coalescing(1));
  EXPECT_TRUE(rank(0).core.pending.contains(1));
  EXPECT_FALSE(rank(0).send_pending());
  EXPECT_EQ(rank(0).endpoint.taken.size(), 2u);
  EXPECT_EQ(rank(0).packets.in_flight(1), 1u);
  arrive_all(0);
  EXPECT_EQ(rank(0).packets.in_flight(1), 0u);
  EXPECT_THAT(rank(1).read(), ElementsAre(0, 1, 2, 3));
}

TEST_F(PacketPath, AFullPacketNeedsNoPoll) {
  uint32_t records = 1;
  ASSERT_TRUE(rank(0).append(1, 0));
  while (rank(0).endpoint.taken.size() == 1) {
    ASSERT_LT(records, packet_bytes);
    ASSERT_TRUE(rank(0).append(1, records++));
  }
  arrive_all(0);
  EXPECT_EQ(rank(1).read().size(), records);
}

TEST_F(PacketPath, ARecordThatTheProviderRefusesLeavesLater) {
  rank(0).endpoint.refuses = true;
  ASSERT_TRUE(rank(0).append(1, 7));
  EXPECT_TRUE(rank(0).send_pending());
  EXPECT_THAT(rank(0).endpoint.taken, IsEmpty());
  rank(0).endpoint.refuses = false;
  EXPECT_FALSE(rank(0).send_pending());
  arrive(0);
  EXPECT_THAT(rank(1).read(), ElementsAre(7));
  EXPECT_TRUE(rank(0).core.health.is_alive(1));
}

TEST_F(PacketPath, WithoutCreditsRecordsWaitForThoseThatReturn) {
  const uint8_t credits = make_settings().credits_each;
  for (uint32_t i = 0; i < credits; ++i) {
    ASSERT_TRUE(rank(0).append(1, i));
    rank(0).look();
  }
  EXPECT_EQ(rank(0).endpoint.taken.size(), credits);
  EXPECT_FALSE(rank(0).packets.has_credit(1));
  ASSERT_TRUE(rank(0).append(1, 100));
  EXPECT_TRUE(rank(0).send_pending());
  EXPECT_EQ(rank(0).endpoint.taken.size(), credits);
  arrive_all(0);
  EXPECT_THAT(rank(1).read(), ElementsAre(0, 1, 2, 3));
  // The receiver owes so many credits that they return in a packet of their own.
  EXPECT_FALSE(rank(1).send_pending());
  ASSERT_EQ(rank(1).endpoint.taken.size(), 1u);
  arrive(1);
  EXPECT_THAT(rank(0).read(), IsEmpty());
  EXPECT_TRUE(rank(0).core.pending.contains(1)) << "the packet that waited for credits";
  EXPECT_FALSE(rank(0).send_pending());
  arrive(0);
  EXPECT_THAT(rank(1).read(), ElementsAre(100));
  rank(1).send_pending();
  EXPECT_THAT(rank(1).endpoint.taken, IsEmpty()) << "a packet of credits costs none";
}

TEST_F(PacketPath, PostsLeavePacketsToProgress) {
  packet_settings settings = make_settings();
  settings.coalescing_bytes = 0;
  settings.inject_bytes = 0;
  start(settings, /*sends=*/3);
  ASSERT_TRUE(rank(0).append(1, 0));
  rank(0).look();
  EXPECT_FALSE(rank(0).append(1, 1));
  EXPECT_TRUE(rank(0).append(1, 2, claim::progress));
  EXPECT_TRUE(rank(0).packets.send_free(1, nullptr));
  EXPECT_FALSE(rank(0).packets.send_free(1, nullptr)) << "no packet is left";
  arrive_all(0);
  EXPECT_TRUE(rank(0).append(1, 3));
  arrive_all(0);
  EXPECT_THAT(rank(1).read(), ElementsAre(0, 2, 3));
}

TEST_F(PacketPath, RecordsToTheRankItselfBypassTheEndpoint) {
  for (uint32_t i = 0; i < 3; ++i) ASSERT_TRUE(rank(0).append(0, i));
  rank(0).send_pending();
  EXPECT_THAT(rank(0).endpoint.taken, IsEmpty());
  EXPECT_THAT(rank(0).read(), ElementsAre(0, 1, 2));
  // Packets and credits are free again.
  for (uint32_t i = 0; i < 20; ++i) {
    ASSERT_TRUE(rank(0).append(0, i));
    rank(0).send_pending();
    EXPECT_THAT(rank(0).read(), ElementsAre(i));
  }
}

TEST_F(PacketPath, AnInjectedRecordIsDrainedWhenAPacketBehindItIsReported) {
  EXPECT_TRUE(rank(0).packets.drain(1));
  ASSERT_TRUE(rank(0).append(1, 7));
  EXPECT_FALSE(rank(0).packets.drain(1));
  EXPECT_FALSE(rank(0).packets.drain(1)) << "the packet behind is not reported yet";
  EXPECT_EQ(rank(0).endpoint.taken.size(), 2u);
  arrive_all(0);
  EXPECT_TRUE(rank(0).packets.drain(1));
  EXPECT_THAT(rank(1).read(), ElementsAre(7));
}

TEST_F(PacketPath, AProbeIsSentWhereNothingIsInFlight) {
  rank(0).packets.probe(1);
  ASSERT_EQ(rank(0).endpoint.taken.size(), 1u);
  rank(0).packets.probe(1);
  EXPECT_EQ(rank(0).endpoint.taken.size(), 1u);
  arrive(0);
  EXPECT_THAT(rank(1).read(), IsEmpty());
}

TEST_F(PacketPath, APacketWithALeaseIsReceivedAgainAfterItsRelease) {
  const size_t receives = rank(1).endpoint.receives.size();
  ASSERT_TRUE(rank(0).append(1, 7));
  arrive(0);
  packet& arrived = rank(1).packets.front();
  arrived.users.fetch_add(1);
  EXPECT_THAT(rank(1).read(), ElementsAre(7));
  EXPECT_EQ(rank(1).endpoint.receives.size(), receives - 1);
  rank(1).packets.release(arrived);
  EXPECT_TRUE(rank(1).packets.has_returned());
  rank(1).packets.repost_all();
  EXPECT_EQ(rank(1).endpoint.receives.size(), receives);
}

TEST_F(PacketPath, APacketThatIsNotOfTheJobIsDropped) {
  const size_t receives = rank(1).endpoint.receives.size();
  ASSERT_TRUE(rank(0).append(1, 7));
  const taken_message good = rank(0).endpoint.taken.front();
  packet_header header;
  std::memcpy(&header, good.bytes.data(), sizeof(header));
  const auto arrive_with = [&](const packet_header& altered) {
    taken_message message = good;
    std::memcpy(message.bytes.data(), &altered, sizeof(altered));
    arrive(message);
  };
  packet_header altered = header;
  ++altered.token;
  arrive_with(altered);
  altered = header;
  altered.source = 2;
  arrive_with(altered);
  altered.source = ~uint32_t{0};
  arrive_with(altered);
  altered.source = 1;  // the receiver
  arrive_with(altered);
  arrive({1, {1, 2, 3}, nullptr});
  EXPECT_THAT(rank(1).read(), IsEmpty());
  EXPECT_FALSE(rank(1).packets.has_greeted(0));
  EXPECT_EQ(rank(1).endpoint.receives.size(), receives);
  EXPECT_TRUE(rank(1).core.health.is_alive(0));
  arrive(good);
  EXPECT_THAT(rank(1).read(), ElementsAre(7));
}

TEST_F(PacketPath, APeerThatReturnsTooManyCreditsIsCorrupt) {
  ASSERT_TRUE(rank(0).append(1, 7));
  taken_message message = rank(0).endpoint.taken.front();
  packet_header header;
  std::memcpy(&header, message.bytes.data(), sizeof(header));
  header.credits = 1;
  std::memcpy(message.bytes.data(), &header, sizeof(header));
  arrive(message);
  EXPECT_EQ(rank(1).core.health.state(0), peer_state::corrupt);
  EXPECT_THAT(rank(1).read(), IsEmpty());
}

TEST_F(PacketPath, APacketForARankThatIsGoneIsFreeAgain) {
  start(make_settings(), /*sends=*/3);
  ASSERT_TRUE(rank(0).append(1, 0));
  ASSERT_TRUE(rank(0).append(1, 1));
  ASSERT_TRUE(rank(0).packets.is_coalescing(1));
  EXPECT_FALSE(rank(0).append(0, 2)) << "the other packets are those of progress";
  rank(0).packets.forget(1);
  EXPECT_FALSE(rank(0).packets.is_coalescing(1));
  EXPECT_TRUE(rank(0).append(0, 2));
}

TEST_F(PacketPath, AnAwaitedSendCompletesWhenItsPacketIsReported) {
  ASSERT_TRUE(rank(0).append_awaited(1, 1));
  ASSERT_EQ(rank(0).endpoint.taken.size(), 1u);
  EXPECT_NE(rank(0).endpoint.taken[0].sent, nullptr) << "an injected packet is never reported";
  ASSERT_TRUE(rank(0).append(1, 2));
  ASSERT_TRUE(rank(0).append_awaited(1, 3));
  ASSERT_TRUE(rank(0).append_awaited(1, 4));
  EXPECT_THAT(rank(0).completed(), IsEmpty());
  arrive(0);
  EXPECT_THAT(rank(0).completed(), ElementsAre(1));
  EXPECT_FALSE(rank(0).send_pending());
  EXPECT_THAT(rank(0).completed(), IsEmpty());
  arrive(0);
  EXPECT_THAT(rank(0).completed(), ElementsAre(3, 4));
  EXPECT_THAT(rank(1).read(), ElementsAre(1, 2, 3, 4));
  // A later packet in the same memory completes none of them.
  ASSERT_TRUE(rank(0).append(1, 5));
  EXPECT_FALSE(rank(0).send_pending());
  arrive_all(0);
  EXPECT_THAT(rank(0).completed(), IsEmpty());
}

TEST_F(PacketPath, APacketOfAsManyAwaitedSendsAsItNamesLeaves) {
  ASSERT_TRUE(rank(0).append(1, 0));
  static_assert((packet::most_awaited + 4) * record_span(sizeof(uint32_t)) < packet_bytes);
  for (uint32_t i = 0; i < packet::most_awaited; ++i) ASSERT_TRUE(rank(0).append_awaited(1, i));
  EXPECT_EQ(rank(0).endpoint.taken.size(), 1u);
  ASSERT_TRUE(rank(0).append(1, 0)) << "this one needs no place";
  EXPECT_EQ(rank(0).endpoint.taken.size(), 1u);
  ASSERT_TRUE(rank(0).append_awaited(1, packet::most_awaited));
  EXPECT_EQ(rank(0).endpoint.taken.size(), 2u);
  EXPECT_FALSE(rank(0).send_pending());
  arrive_all(0);
  EXPECT_EQ(rank(0).completed().size(), packet::most_awaited + 1);
}

TEST_F(PacketPath, AwaitedSendsToARankThatIsGoneFailOnce) {
  ASSERT_TRUE(rank(0).append_awaited(1, 1));
  ASSERT_TRUE(rank(0).append_awaited(1, 2));
  ASSERT_TRUE(rank(0).packets.is_coalescing(1));
  rank(0).packets.forget(1);
  EXPECT_THAT(rank(0).completed(), UnorderedElementsAre(-1, -2));
  rank(0).packets.sent(*rank(0).endpoint.taken[0].sent);
  EXPECT_THAT(rank(0).completed(), IsEmpty());
}

TEST_F(PacketPath, AnAwaitedSendFailsWithItsPacket) {
  ASSERT_TRUE(rank(0).append_awaited(1, 1));
  rank(0).packets.sent(*rank(0).endpoint.taken[0].sent, /*failed=*/true);
  EXPECT_THAT(rank(0).completed(), ElementsAre(-1));
}

}  // namespace
}  // namespace lci::net::ofi
