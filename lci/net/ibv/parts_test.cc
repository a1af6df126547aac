// Unit tests of the parts of a device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "lci/api/attr.hpp"
#include "lci/net/ibv/monitor_ring.h"
#include "lci/net/ibv/port.h"
#include "lci/net/ibv/queue_depths.h"
#include "lci/net/ibv/send_queue.h"
#include "lci/net/ibv/source_table.h"
#include "lci/net/ibv/verbs.h"
#include "lci/net/ibv/wire.h"
#include "lci/testing/fake_verbs/fake_verbs.h"

namespace lci::net::ibv {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(Verbs, WithoutTheLibraryTheErrorSaysWhatToInstall) {
  const auto missing = load_verbs_from("libnonesuch.so.1");
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(std::string(missing.status().message()),
              AllOf(HasSubstr("libnonesuch.so.1"), HasSubstr("libibverbs1")));
}

TEST(Verbs, ALibraryWithoutTheFunctionsIsRefused) {
  const auto wrong = load_verbs_from("libc.so.6");
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(std::string(wrong.status().message()), HasSubstr("ibv_get_device_list"));
}

ibv_gid_entry entry(uint32_t index, uint32_t type, std::vector<uint8_t> first, bool ipv4,
                    uint32_t port = 1) {
  ibv_gid_entry made = {};
  made.gid_index = index;
  made.port_num = port;
  made.gid_type = type;
  std::copy(first.begin(), first.end(), made.gid.raw);
  if (ipv4) {
    made.gid.raw[10] = made.gid.raw[11] = 0xff;
    made.gid.raw[12] = 10;
  }
  return made;
}

const ibv_gid_entry empty = entry(0, IBV_GID_TYPE_ROCE_V2, {}, false);
const ibv_gid_entry old_ipv4 = entry(1, IBV_GID_TYPE_ROCE_V1, {}, true);
const ibv_gid_entry old_link = entry(2, IBV_GID_TYPE_ROCE_V1, {0xfe, 0x80}, false);
const ibv_gid_entry link = entry(3, IBV_GID_TYPE_ROCE_V2, {0xfe, 0x80}, false);
const ibv_gid_entry ipv6 = entry(4, IBV_GID_TYPE_ROCE_V2, {0x20, 0x01}, false);
const ibv_gid_entry ipv4 = entry(5, IBV_GID_TYPE_ROCE_V2, {}, true);
const ibv_gid_entry ipv4_again = entry(6, IBV_GID_TYPE_ROCE_V2, {}, true);
const ibv_gid_entry elsewhere = entry(7, IBV_GID_TYPE_ROCE_V2, {}, true, 2);

TEST(Port, TheGidThatReachesFurthestIsChosen) {
  EXPECT_EQ(choose_gid({elsewhere, empty}, 1), -1);
  EXPECT_EQ(choose_gid({elsewhere, empty, old_link}, 1), 2);
  EXPECT_EQ(choose_gid({old_link, old_ipv4}, 1), 1);
  EXPECT_EQ(choose_gid({old_link, old_ipv4, link}, 1), 3);
  EXPECT_EQ(choose_gid({link, ipv6, old_ipv4}, 1), 4);
  EXPECT_EQ(choose_gid({link, ipv6, ipv4, ipv4_again, elsewhere}, 1), 5);
  EXPECT_EQ(choose_gid({link, ipv6, ipv4, elsewhere}, 2), 7);
}

class FakePort : public testing::Test {
 protected:
  void SetUp() override { reset_fake(); }
  void TearDown() override { EXPECT_EQ(counts_of_fake().objects, 0); }
};

net_context_attr_t wanted(const std::string& name, int gid_index = -1, bool always_by_gid = false) {
  net_context_attr_t made;
  made.device_name = name;
  made.ibv_gid_idx = gid_index;
  made.ibv_force_gid_auto_select = always_by_gid;
  return made;
}

std::string name_or_error(const net_context_attr_t& asked) {
  const auto opened = open_port(fake_verbs(), asked);
  return opened.ok() ? opened->name : std::string(opened.status().message());
}

TEST_F(FakePort, IsFoundByName) {
  settings_of_fake().devices = {"fake0", "fake1"};
  settings_of_fake().ports = 2;
  settings_of_fake().gids = {entry(0, IBV_GID_TYPE_ROCE_V2, {}, true, 1),
                             entry(0, IBV_GID_TYPE_ROCE_V2, {}, true, 2)};
  EXPECT_EQ(name_or_error({}), "fake0:1");
  EXPECT_EQ(name_or_error(wanted("fake1")), "fake1:1");
  EXPECT_EQ(name_or_error(wanted("fake1:2")), "fake1:2");
  EXPECT_THAT(name_or_error(wanted("fake1:3")), HasSubstr("has 2 ports"));
  EXPECT_THAT(name_or_error(wanted("fake1:x")), HasSubstr("device_name"));
  EXPECT_THAT(name_or_error(wanted("fake2")), AllOf(HasSubstr("fake0"), HasSubstr("fake1")));
}

TEST_F(FakePort, TheErrorOfAnUnusablePortSaysWhy) {
  settings_of_fake().active = false;
  EXPECT_THAT(name_or_error({}), AllOf(HasSubstr("fake0:1"), HasSubstr("not active")));
  settings_of_fake().devices = {};
  EXPECT_THAT(name_or_error({}), HasSubstr("no RDMA device"));
}

TEST_F(FakePort, OnEthernetRanksAreNamedByGid) {
  settings_of_fake().gids = {link, ipv4, ipv6};
  auto opened = open_port(fake_verbs(), {});
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(opened->gid_index, 5);
  const ibv_ah_attr path = opened->path_to(opened->address());
  EXPECT_EQ(path.is_global, 1);
  EXPECT_EQ(path.grh.sgid_index, 5);
  EXPECT_EQ(std::memcmp(path.grh.dgid.raw, ipv4.gid.raw, 16), 0);
  opened = open_port(fake_verbs(), wanted("", 4));
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(std::memcmp(opened->gid.raw, ipv6.gid.raw, 16), 0);
  EXPECT_THAT(name_or_error(wanted("", 9)), HasSubstr("ibv_gid_idx"));
}

TEST_F(FakePort, OnInfiniBandRanksAreNamedByLidUnlessAskedOtherwise) {
  settings_of_fake().link_layer = IBV_LINK_LAYER_INFINIBAND;
  settings_of_fake().lid = 7;
  settings_of_fake().gids = {entry(0, IBV_GID_TYPE_IB, {0xfe, 0x80}, false)};
  auto opened = open_port(fake_verbs(), {});
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(opened->gid_index, -1);
  EXPECT_EQ(opened->path_to(opened->address()).dlid, 7);
  EXPECT_EQ(opened->path_to(opened->address()).is_global, 0);
  for (const net_context_attr_t& asked : {wanted("", 0, false), wanted("", -1, true)}) {
    opened = open_port(fake_verbs(), asked);
    ASSERT_TRUE(opened.ok());
    EXPECT_EQ(opened->path_to(opened->address()).is_global, 1);
    EXPECT_EQ(opened->path_to(opened->address()).dlid, 7);
  }
  // Without a LID, only a GID can be used.
  settings_of_fake().lid = 0;
  opened = open_port(fake_verbs(), {});
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(opened->gid_index, 0);
}

TEST(SendQueue, AQueueThatIsNotAdmittedLooksFull) {
  const auto owned_queue = std::make_unique<send_queue>();
  send_queue& queue = *owned_queue;
  EXPECT_TRUE(queue.is_full());
  queue.open(nullptr, 0, 4);
  EXPECT_TRUE(queue.is_full());
  queue.admit(true);
  EXPECT_FALSE(queue.is_full());
  queue.admit(false);
  EXPECT_TRUE(queue.is_full());
  EXPECT_TRUE(queue.is_empty());
}

queue_lengths queues(size_t sends, size_t receives, size_t completions) {
  return {sends - 1, 1, receives, completions};
}

TEST(QueueDepths, AreSumsThatFit) {
  const device_capacity large = {4000000, 32000, 16000};
  for (const size_t ranks : {1, 2, 4, 64, 1000, 4000}) {
    const auto chosen = choose_queue_depths(queues(1024, 4096, 65536), ranks, large);
    ASSERT_TRUE(chosen.ok()) << ranks;
    EXPECT_GE(chosen->depth, 16u);
    EXPECT_LE(chosen->depth, 256u);
    EXPECT_LE(chosen->receives, 4096u);
    EXPECT_EQ(chosen->completions, chosen->receives + 2 * ranks * chosen->depth + ranks);
    EXPECT_LE(chosen->completions, std::max<size_t>(65536, 4096 + (2 * 16 + 1) * ranks));
  }
  EXPECT_EQ(choose_queue_depths(queues(1024, 4096, 65536), 2, large)->depth, 256u);
  EXPECT_EQ(choose_queue_depths(queues(64, 4096, 65536), 2, large)->depth, 64u);
  EXPECT_EQ(choose_queue_depths(queues(64, 4096, 65536), 1, large)->receives, 128u);
  EXPECT_EQ(choose_queue_depths(queues(1024, 100, 65536), 4, large)->receives, 100u);
  EXPECT_LE(choose_queue_depths(queues(1024, 4096, 65536), 4, {5000, 32000, 16000})->completions,
            5000u);
}

TEST(QueueDepths, AnErrorNamesDepthsThatDoNotFit) {
  const auto none = choose_queue_depths(queues(1024, 4096, 65536), 1000, {32767, 32000, 16000});
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(std::string(none.status().message()), AllOf(HasSubstr("32767"), HasSubstr("1000")));
}

TEST(SourceTable, FindsWhatWasAddedAndNothingElse) {
  source_table table(40);
  // These numbers collide, as those of several devices may.
  for (uint32_t i = 0; i < 40; ++i) table.add(100 + i * 64, static_cast<int>(i));
  for (uint32_t i = 0; i < 40; ++i) EXPECT_EQ(table.find(100 + i * 64), static_cast<int>(i));
  EXPECT_EQ(table.find(101), -1);
  EXPECT_EQ(table.find(0), -1);
}

TEST(Wire, MalformedControlsAreRefused) {
  const control good{control_kind::recover, 77};
  control read = {};
  ASSERT_TRUE(read_control(&good, sizeof(good), &read));
  EXPECT_EQ(read.first_psn, 77u);
  EXPECT_FALSE(read_control(&good, sizeof(good) - 1, &read));
  EXPECT_FALSE(read_control(&good, sizeof(good) + 1, &read));
  for (const uint32_t kind : {0u, 4u, ~0u}) {
    const control invalid{static_cast<control_kind>(kind), 0};
    EXPECT_FALSE(read_control(&invalid, sizeof(invalid), &read));
  }
  EXPECT_EQ(decode_immediate(encode_immediate(0x12345678)), 0x12345678u);
}

connect_datagram make_datagram(connect_datagram_kind kind, uint32_t from, uint32_t about) {
  connect_datagram made = {};
  made.version = wire_version;
  made.kind = kind;
  made.rank = from;
  made.about = about;
  return made;
}

TEST(Wire, MalformedDatagramsAreRefused) {
  constexpr int ranks = 5;
  constexpr int self = 2;
  // The combinations of kind, sender and subject that rank `self` accepts.
  const auto is_expected = [](connect_datagram_kind kind, uint32_t from, uint32_t about) {
    if (from == self || from >= ranks || about >= ranks) return false;
    switch (kind) {
      case connect_datagram_kind::request:
      case connect_datagram_kind::reply:
        return about == self;
      case connect_datagram_kind::ended:
        return about != self;
      case connect_datagram_kind::query:
      case connect_datagram_kind::alive:
        return about != self && about != from;
      case connect_datagram_kind::failed:
        return about != from;
    }
    return false;
  };
  int good = 0;
  for (uint32_t kind = 0; kind <= 8; ++kind) {
    for (const uint32_t from : {0u, 1u, 2u, 4u, 5u, ~0u}) {
      for (const uint32_t about : {0u, 1u, 2u, 4u, 5u, ~0u}) {
        connect_datagram got = make_datagram(static_cast<connect_datagram_kind>(kind), from, about);
        EXPECT_EQ(is_valid(got, ranks, self), is_expected(got.kind, from, about))
            << kind << " from " << from << " about " << about;
        good += is_valid(got, ranks, self) ? 1 : 0;
        got.version = wire_version - 1;
        EXPECT_FALSE(is_valid(got, ranks, self));
      }
    }
  }
  EXPECT_EQ(good, 3 * (1 + 1 + 3 + 2 + 2 + 3));
  connect_datagram got = make_datagram(connect_datagram_kind::request, 0, self);
  got.numbers.heartbeat_target_qp = largest_number;
  EXPECT_TRUE(is_valid(got, ranks, self));
  got.numbers.heartbeat_target_qp = largest_number + 1;
  EXPECT_FALSE(is_valid(got, ranks, self));
}

// Addresses of ranks by the letter of their port.
std::vector<port_address> ports(const std::string& letters) {
  std::vector<port_address> made;
  for (const char letter : letters) {
    made.emplace_back();
    made.back().lid = static_cast<uint16_t>(letter);
  }
  return made;
}

// The letters of the ranks in ring order, starting at rank `first`.
std::string around(const std::string& letters, int first, int step) {
  const monitor_ring made(ports(letters));
  std::string seen;
  int at = first;
  do {
    seen += letters[static_cast<size_t>(at)];
    EXPECT_EQ(made.neighbor(made.neighbor(at, step), -step), at);
    at = made.neighbor(at, step);
  } while (at != first && seen.size() < letters.size());
  EXPECT_EQ(at, first);
  return seen;
}

TEST(MonitorRing, HasEachRankOnce) {
  EXPECT_EQ(around("a", 0, 1), "a");
  EXPECT_EQ(around("ab", 0, 1), "ab");
  EXPECT_EQ(around("abc", 0, 1), "abc");
  EXPECT_EQ(around("abc", 0, -1), "acb");
  for (const char* letters : {"aaaa", "abcdefgh", "aabbcc", "abababab", "baaaaaaa", "aabcdeff"}) {
    std::string seen = around(letters, 0, 1);
    std::string all = letters;
    std::sort(seen.begin(), seen.end());
    std::sort(all.begin(), all.end());
    EXPECT_EQ(seen, all);
  }
}

TEST(MonitorRing, RanksOfOnePortAreNotNeighbors) {
  EXPECT_EQ(around("aabb", 0, 1), "abab");
  EXPECT_EQ(around("aabbcc", 0, 1), "abcabc");
  // Port a has the most ranks; ports b, c, ... share the rest, evenly or not.
  for (size_t most = 1; most <= 12; ++most) {
    for (size_t others = 1; others <= 30; ++others) {
      for (size_t each = 1; each <= most; ++each) {
        std::string letters(others, 'b');
        for (size_t i = 0; i < others; ++i) letters[i] = static_cast<char>('b' + i / each);
        letters += std::string(most, 'a');
        const std::string seen = around(letters, 0, 1);
        const std::string twice = seen + seen;
        for (size_t i = 0; i < seen.size(); ++i) {
          const bool before = twice[i] == twice[i + 1];
          const bool after = twice[i + 1] == twice[i + 2];
          EXPECT_FALSE(most <= others && before) << seen;
          EXPECT_FALSE(most <= 2 * others && before && after) << seen;
        }
      }
    }
  }
}

}  // namespace
}  // namespace lci::net::ibv
