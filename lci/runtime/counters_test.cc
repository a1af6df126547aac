// The counters are exact for known programs.
#include "lci/api/counters.hpp"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "lci/api/lci.hpp"
#include "lci/observe/counting.h"
#include "lci/runtime/instance/runtime.h"
#include "lci/testing/ranks/ranks.h"

namespace lci {
namespace {

class Counters : public testing::Test {
 protected:
  Counters() { observe::counts_traffic().store(true); }
  ~Counters() override { observe::counts_traffic().store(false); }
};

// Waits until it has ended.
void finish(rank_under_test& self, const status_t& posted) {
  EXPECT_NE(self.end_of(posted).error.errorcode, errorcode_t::fatal);
}

counters_t read(const rank_under_test& self) { return get_counters_x().runtime(self.runtime)(); }

void expect(const traffic_t& counted, uint64_t messages, uint64_t bytes) {
  EXPECT_EQ(counted.messages, messages);
  EXPECT_EQ(counted.bytes, bytes);
}

void send_am(const rank_under_test& self, device_t device, size_t size, comp_t comp = COMP_NULL) {
  std::vector<unsigned char> bytes(size, 1);
  static_cast<void>(accepted(post_am_x(self.to, bytes.data(), size, comp, self.rcomp)
                                 .runtime(self.runtime)
                                 .device(device)));
}

void receive_am(rank_under_test& self, device_t device) {
  status_t status = cq_pop_x(self.queue).runtime(self.runtime)();
  while (status.is_retry()) {
    progress_x().runtime(self.runtime).device(device)();
    status = cq_pop_x(self.queue).runtime(self.runtime)();
  }
  free(status.get_buffer());
}

// All kinds, from this rank to itself: nothing else is on the way.
void communicate_alone(rank_under_test& self) {
  for (int i = 0; i < 10; ++i) {
    send_am(self, {}, 8);
    receive_am(self, {});
  }
  std::vector<unsigned char> out(100, 7);
  std::vector<unsigned char> in(100);
  for (tag_t tag = 0; tag < 3; ++tag) {  // expected
    const status_t posted = self.receive(in, tag)();
    static_cast<void>(
        accepted(post_send_x(self.to, out.data(), 100, tag, COMP_NULL).runtime(self.runtime)));
    finish(self, posted);
  }
  for (tag_t tag = 10; tag < 12; ++tag) {  // unexpected
    static_cast<void>(
        accepted(post_send_x(self.to, out.data(), 50, tag, COMP_NULL).runtime(self.runtime)));
    while (read(self).matching_engines[1].unexpected < tag - 9) {
      progress_x().runtime(self.runtime)();
    }
    EXPECT_TRUE(self.receive(in, tag)().is_done());
  }
  std::vector<unsigned char> large(size_t{1} << 20, 3);
  std::vector<unsigned char> room(large.size());
  comp_t sent = alloc_sync_x().runtime(self.runtime)();
  const status_t posted = self.receive(room, 20)();
  const status_t sending =
      accepted(post_send_x(self.to, large.data(), large.size(), 20, sent).runtime(self.runtime));
  finish(self, posted);
  if (sending.is_posted()) sync_wait_x(sent, nullptr).runtime(self.runtime)();
  EXPECT_EQ(room, large);
  free_comp_x{&sent}.runtime(self.runtime)();

  mr_t mr = register_memory_x(room.data(), room.size()).runtime(self.runtime)();
  const rmr_t remote = get_rmr_x(mr).runtime(self.runtime)();
  finish(self,
         accepted(post_put_x(self.to, out.data(), 40, self.sync, 0, remote).runtime(self.runtime)));
  finish(self,
         accepted(post_get_x(self.to, out.data(), 24, self.sync, 0, remote).runtime(self.runtime)));
  const uint64_t registrations = read(self).registrations;
  deregister_memory_x(&mr).runtime(self.runtime)();
  EXPECT_EQ(read(self).registrations, registrations - 1);
}

// Sends `count` active messages of `size` bytes, each after the one before has been received.
void send_large(rank_under_test& self, int count, size_t size) {
  const std::vector<unsigned char> bytes(size, 1);
  for (int i = 0; i < count; ++i) {
    EXPECT_TRUE(
        accepted(
            post_am_x(self.to, bytes.data(), size, self.sync, self.rcomp).runtime(self.runtime))
            .is_posted());
    receive_am(self, {});
    sync_wait_x(self.sync, nullptr).runtime(self.runtime)();
  }
}

TEST_F(Counters, CountWhatReceiversGet) {
  run(1, [](rank_under_test& self) {
    constexpr size_t size = 100000;
    send_large(self, 1, size);
    const counters_t all = read(self);
    const device_counters_t& counted = all.devices.at(0);
    expect(counted.sent_large, 1, size);
    expect(counted.received_large, 1, size);
    expect(counted.rendezvous_gets, 1, size);
    expect(counted.rendezvous_puts, 0, 0);
    expect(counted.gets, 0, 0);
  });
}

// The network tries both ways, and is notified of each message: it gets 8, then puts 8.
TEST_F(Counters, ShowThatLargeMessagesTryBothWays) {
  run(1, [](rank_under_test& self) {
    constexpr size_t size = 100000;
    send_large(self, 16, size);
    const counters_t all = read(self);
    const device_counters_t& counted = all.devices.at(0);
    expect(counted.sent_large, 16, 16 * size);
    expect(counted.rendezvous_gets, 8, 8 * size);
    EXPECT_GE(counted.rendezvous_puts.messages, 8u);
    EXPECT_EQ(counted.rendezvous_puts.bytes, 8 * size);
  });
}

TEST_F(Counters, AreExactForOneRank) {
  run(1, [](rank_under_test& self) {
    communicate_alone(self);
    const counters_t all = read(self);
    EXPECT_TRUE(all.counts_traffic);
    ASSERT_EQ(all.devices.size(), 1u);
    const device_counters_t& counted = all.devices[0];
    expect(counted.sent_am, 10, 80);
    expect(counted.received_am, 10, 80);
    expect(counted.sent_tagged, 5, 400);
    expect(counted.received_tagged, 5, 400);
    expect(counted.sent_large, 1, size_t{1} << 20);
    expect(counted.received_large, 1, size_t{1} << 20);
    EXPECT_GE(counted.rendezvous_puts.messages, 1u);
    EXPECT_EQ(counted.rendezvous_puts.bytes, size_t{1} << 20);
    EXPECT_EQ(counted.rendezvous_gets.messages, 0u);
    expect(counted.puts, 1, 40);
    expect(counted.gets, 1, 24);
    EXPECT_GE(counted.polls, 1u);
    EXPECT_LE(counted.empty_polls + counted.busy_polls, counted.polls);
    EXPECT_EQ(counted.backlogged, 0u);
    ASSERT_EQ(counted.peers.size(), 1u);
    EXPECT_EQ(counted.peers[0].rank, 0);
    expect(counted.peers[0].sent, 17, 80 + 400 + (size_t{1} << 20) + 40);
    expect(counted.peers[0].received, 17, 80 + 400 + (size_t{1} << 20) + 24);
    ASSERT_GE(all.matching_engines.size(), 2u);
    EXPECT_EQ(all.matching_engines[1].id, 1u);
    EXPECT_EQ(all.matching_engines[1].unexpected, 2u);
    EXPECT_EQ(all.matching_engines[1].unexpected_bytes, 100u);
    EXPECT_EQ(all.matching_engines[0].unexpected, 0u);
  });
}

TEST_F(Counters, StayZeroWhereTrafficIsNotCounted) {
  observe::counts_traffic().store(false);
  run(1, [](rank_under_test& self) {
    communicate_alone(self);
    const counters_t all = read(self);
    EXPECT_FALSE(all.counts_traffic);
    expect(all.devices[0].sent_am, 0, 0);
    EXPECT_EQ(all.devices[0].polls, 0u);
    EXPECT_TRUE(all.devices[0].peers.empty());
    EXPECT_EQ(all.matching_engines[1].unexpected, 2u) << "counted in every program";
  });
}

TEST_F(Counters, NamePeers) {
  run(3, [](rank_under_test& self) {
    // Before the barrier, behind which a neighbor may send.
    const counters_t before = read(self);
    self.meet();
    const auto count = [](int rank) { return static_cast<uint64_t>(10 * (rank + 1)); };
    for (uint64_t i = 0; i < count(self.rank); ++i) send_am(self, {}, 16);
    for (uint64_t i = 0; i < count(self.from); ++i) receive_am(self, {});
    const counters_t after = read(self);
    expect(before.devices[0].sent_am, 0, 0);
    expect(before.devices[0].received_am, 0, 0);
    expect(after.devices[0].sent_am, count(self.rank), 16 * count(self.rank));
    expect(after.devices[0].received_am, count(self.from), 16 * count(self.from));
    uint64_t to = 0;
    uint64_t messages = 0;
    for (const peer_counters_t& peer : after.devices[0].peers) {
      if (peer.rank == self.to) to = peer.sent.bytes;
      messages += peer.sent.messages;
    }
    EXPECT_GE(to, 16 * count(self.rank));
    const device_counters_t& all = after.devices[0];
    EXPECT_EQ(messages, all.sent_am.messages + all.sent_tagged.messages + all.sent_large.messages +
                            all.puts.messages);
    self.meet();
  });
}

TEST_F(Counters, OfFreedDevicesStay) {
  run(1, [](rank_under_test& self) {
    device_t device = alloc_device_x().runtime(self.runtime)();
    for (int i = 0; i < 7; ++i) {
      send_am(self, device, 8);
      receive_am(self, device);
    }
    const counters_t one = get_counters_x().device(device)();
    ASSERT_EQ(one.devices.size(), 1u);
    expect(one.devices[0].sent_am, 7, 56);
    EXPECT_TRUE(one.matching_engines.empty());
    free_device_x(&device).runtime(self.runtime)();
    const counters_t all = read(self);
    ASSERT_EQ(all.devices.size(), 1u);
    expect(all.devices[0].sent_am, 0, 0);
    EXPECT_EQ(all.freed_devices.uid, -1);
    expect(all.freed_devices.sent_am, 7, 56);
    expect(all.freed_devices.received_am, 7, 56);
    ASSERT_EQ(all.freed_devices.peers.size(), 1u);
    expect(all.freed_devices.peers[0].sent, 7, 56);
  });
}

TEST_F(Counters, AreExactForThreads) {
  run(1, [](rank_under_test& self) {
    constexpr int threads = 4;
    constexpr uint64_t each = 2000;
    comp_t arrived = alloc_counter_x().runtime(self.runtime)();
    const rcomp_t rcomp = register_rcomp_x(arrived).runtime(self.runtime)();
    std::atomic<bool> done{false};
    std::thread reader([&] {
      uint64_t last = 0;
      while (!done.load()) {
        const uint64_t now = read(self).devices[0].sent_am.messages;
        EXPECT_GE(now, last);
        last = now;
        std::this_thread::yield();
      }
    });
    std::vector<std::thread> senders;
    for (int t = 0; t < threads; ++t) {
      senders.emplace_back([&] {
        uint64_t bytes = 0;
        for (uint64_t i = 0; i < each; ++i) {
          static_cast<void>(accepted(
              post_am_x(0, &bytes, sizeof(bytes), COMP_NULL, rcomp).runtime(self.runtime)));
        }
      });
    }
    for (std::thread& thread : senders) thread.join();
    while (counter_get_x(arrived)() < static_cast<int64_t>(threads * each)) {
      progress_x().runtime(self.runtime)();
    }
    done.store(true);
    reader.join();
    const device_counters_t counted = read(self).devices[0];
    expect(counted.sent_am, threads * each, threads * each * 8);
    expect(counted.received_am, threads * each, threads * each * 8);
    deregister_rcomp_x(rcomp).runtime(self.runtime)();
    free_comp_x{&arrived}.runtime(self.runtime)();
  });
}

TEST_F(Counters, CountWhatStandsInTheWay) {
  run(1, [](rank_under_test& self) {
    uint64_t bytes = 0;
    uint64_t sent = 0;
    const auto post =
        post_am_x(0, &bytes, sizeof(bytes), COMP_NULL_RETRY, self.rcomp).runtime(self.runtime);
    status_t status;
    while (!(status = post()).is_retry())
      ASSERT_LT(++sent, 1000000u) << "the network never refuses";
    const uint64_t refused = read(self).devices[0].refused_full;
    EXPECT_GE(refused, 1u);
    // With a completion object, so that it is posted, not waited for.
    status = post_am_x(0, &bytes, sizeof(bytes), self.sync, self.rcomp)
                 .runtime(self.runtime)
                 .allow_retry(false)();
    ASSERT_TRUE(status.is_posted());
    EXPECT_EQ(read(self).devices[0].backlogged, 1u);
    EXPECT_GT(read(self).devices[0].refused_full, refused);
    finish(self, status);
    for (uint64_t i = 0; i < sent + 1; ++i) receive_am(self, {});
    expect(read(self).devices[0].sent_am, sent + 1, 8 * (sent + 1));
    expect(read(self).devices[0].received_am, sent + 1, 8 * (sent + 1));

    packet_pool_t pool = alloc_packet_pool_x().npackets(2).runtime(self.runtime)();
    std::vector<void*> taken;
    while (void* packet = get_upacket_x().runtime(self.runtime).packet_pool(pool)()) {
      taken.push_back(packet);
    }
    const packet_pool_counters_t counted = read(self).packet_pools.back();
    EXPECT_EQ(counted.packets, 2u);
    EXPECT_EQ(counted.used, 2u);
    EXPECT_EQ(counted.in_use, 2u);
    EXPECT_EQ(counted.exhausted, 1u);
    for (void* packet : taken) put_upacket(packet);
    free_packet_pool_x(&pool).runtime(self.runtime)();
  });
}

TEST_F(Counters, AreComparedBetweenRanks) {
  testing::internal::CaptureStderr();
  run(3, [](rank_under_test& self) {
    for (int i = 0; i < 5 * (self.rank + 1); ++i) send_am(self, {}, 8);
    for (int i = 0; i < 5 * (self.from + 1); ++i) receive_am(self, {});
    self.meet();
    self.runtime.p_impl->report_counters();
  });
  const std::string table = testing::internal::GetCapturedStderr();
  EXPECT_NE(table.find("lci: counters of 3 ranks\n"), std::string::npos) << table;
  const size_t at = table.find("active messages sent, bytes ");
  ASSERT_NE(at, std::string::npos) << table;
  std::string words;
  for (const char c : table.substr(at, table.find('\n', at) - at)) {
    if (c != ' ' || (!words.empty() && words.back() != ' ')) words += c;
  }
  EXPECT_EQ(words, "active messages sent, bytes 40 0 80 120 2 240");
  EXPECT_EQ(table.find("refused: peer gone"), std::string::npos) << table;
}

}  // namespace
}  // namespace lci
