// Packets of the program, to send from and to receive in.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lci/api/lci.hpp"
#include "lci/runtime/instance/runtime.h"
#include "lci/runtime/resources/fake_network.h"
#include "lci/testing/ranks/ranks.h"

namespace lci {
namespace {

class Packet : public rank_test {};
INSTANTIATE_TEST_SUITE_P(OneToFourRanks, Packet, testing::ValuesIn(one_to(4)));

TEST_P(Packet, PacketsOfTheProgramGoBackByThemselves) {
  run(ranks(), [](rank_under_test& self) {
    packet_pool_impl_t& pool = *get_default_packet_pool_x().runtime(self.runtime)().p_impl;
    for (size_t size : {size_t{0}, size_t{1}, size_t{4000}, size_t{8192}}) {
      for (tag_t tag : {tag_t{2}, tag_t{1} << 50}) {
        const auto expected = make_message(self.from, tag, size);
        const auto fill = [&] {
          void* packet = get_upacket_x().runtime(self.runtime)();
          EXPECT_NE(packet, nullptr);
          EXPECT_EQ(reinterpret_cast<uintptr_t>(packet) % 64, 0u);
          const auto bytes = make_message(self.rank, tag, size);
          std::copy(bytes.begin(), bytes.end(), static_cast<unsigned char*>(packet));
          return packet;
        };
        // As an active message, as a send, and as a send that the network completes.
        const status_t out = post_am_x(self.to, fill(), size, COMP_NULL, self.rcomp)
                                 .tag(tag)
                                 .runtime(self.runtime)();
        EXPECT_TRUE(out.is_done());
        const status_t came = self.pop();
        EXPECT_EQ(came.size, size);
        EXPECT_TRUE(size == 0 || std::memcmp(came.buffer, expected.data(), size) == 0);
        std::free(came.buffer);
        for (auto semantic : {comp_semantic_t::memory, comp_semantic_t::network}) {
          std::vector<unsigned char> room(size);
          const status_t posted = self.receive(room, tag)();
          comp_t sent = alloc_sync_x().runtime(self.runtime)();
          if (accepted(post_send_x(self.to, fill(), size, tag, sent)
                           .comp_semantic(semantic)
                           .runtime(self.runtime))
                  .is_posted()) {
            sync_wait_x(sent, nullptr).runtime(self.runtime)();
          }
          EXPECT_TRUE(self.end_of(posted).is_done());
          EXPECT_EQ(room, expected);
          free_comp_x{&sent}.runtime(self.runtime)();
        }
        self.meet();
      }
    }
    wait_drained_x().runtime(self.runtime)();
    self.meet();
    EXPECT_EQ(pool.in_use(), 0u) << "a packet was lost";
    void* packet = get_upacket_x().runtime(self.runtime)();
    EXPECT_THROW(
        static_cast<void>(
            post_am_x(self.to, packet, 8193, COMP_NULL, self.rcomp).runtime(self.runtime)()),
        std::invalid_argument);
    put_upacket_x{packet}.runtime(self.runtime)();
    EXPECT_EQ(pool.in_use(), 0u);
    alignas(64) unsigned char none[128] = {};
    EXPECT_THROW(put_upacket_x{none + 64}.runtime(self.runtime)(), std::invalid_argument);
    EXPECT_THROW(put_upacket_x{nullptr}.runtime(self.runtime)(), std::invalid_argument);
  });
}

TEST_P(Packet, ActiveMessagesArriveInPacketsIfAskedFor) {
  run(ranks(), [](rank_under_test& self) {
    packet_pool_impl_t& pool = *get_default_packet_pool_x().runtime(self.runtime)().p_impl;
    comp_t queue = alloc_cq_x().zero_copy_am(true).runtime(self.runtime)();
    const rcomp_t rcomp = register_rcomp_x(queue).runtime(self.runtime)();
    self.meet();
    for (size_t size : {size_t{0}, size_t{1}, size_t{8192}, size_t{8193},
                        less_if_simulated<size_t>(100000, 9000)}) {
      auto bytes = make_message(self.rank, 1, size);
      static_cast<void>(
          post_am_x(self.to, bytes.data(), size, COMP_NULL, rcomp).runtime(self.runtime)());
      status_t came;
      do {
        progress_x().runtime(self.runtime)();
        came = cq_pop_x(queue).runtime(self.runtime)();
      } while (came.is_retry());
      EXPECT_EQ(came.size, size);
      ASSERT_NE(came.buffer, nullptr);
      EXPECT_TRUE(size == 0 ||
                  std::memcmp(came.buffer, make_message(self.from, 1, size).data(), size) == 0);
      EXPECT_EQ(rt::packet::of(came.buffer)->pool() == &pool, size <= 8192);
      put_upacket_x{came.buffer}.runtime(self.runtime)();
      self.meet();
    }
    EXPECT_EQ(pool.in_use(), 0u);
    free_comp_x{&queue}.runtime(self.runtime)();
  });
}

// Counts what is allocated and freed for active messages.
struct counting_allocator final : allocator_base_t {
  void* allocate(size_t size) override {
    ++allocated;
    return std::malloc(size);
  }
  void deallocate(void* memory) override {
    ++freed;
    std::free(memory);
  }
  std::atomic<int> allocated{0};
  std::atomic<int> freed{0};
};

struct lent_messages {
  static void on_message(status_t status) {
    auto& self = *current;
    self.sound =
        status.size == self.expected.size() && (status.size > 0 || status.buffer == nullptr) &&
        (status.size == 0 || std::memcmp(status.buffer, self.expected.data(), status.size) == 0);
    ++self.came;
    self.buffer = status.buffer;
    if (self.throws) throw std::runtime_error("a handler's own");
  }
  static thread_local lent_messages* current;  // each rank is a thread here
  std::vector<unsigned char> expected;
  bool sound = false;
  bool throws = false;
  int came = 0;
  const void* buffer = nullptr;  // of the last
};
thread_local lent_messages* lent_messages::current = nullptr;

TEST_P(Packet, ActiveMessagesAreLentIfAskedFor) {
  run(ranks(), [](rank_under_test& self) {
    counting_allocator allocator;
    set_allocator_x{&allocator}.runtime(self.runtime)();
    lent_messages messages;
    lent_messages::current = &messages;
    comp_t handler =
        alloc_handler_x(lent_messages::on_message).lend_am(true).runtime(self.runtime)();
    comp_t counter = alloc_counter_x().runtime(self.runtime)();
    const rcomp_t handler_rcomp = register_rcomp_x(handler).runtime(self.runtime)();
    const rcomp_t counter_rcomp = register_rcomp_x(counter).runtime(self.runtime)();
    self.meet();
    int sent = 0;
    for (size_t size : {size_t{0}, size_t{1}, size_t{8}, size_t{100}, size_t{8000},
                        less_if_simulated<size_t>(100000, 9000)}) {
      for (const bool throws : {false, true}) {
        messages.expected = make_message(self.from, 1, size);
        messages.sound = false;
        self.meet();
        auto bytes = make_message(self.rank, 1, size);
        static_cast<void>(post_am_x(self.to, bytes.data(), size, COMP_NULL, handler_rcomp)
                              .runtime(self.runtime)());
        static_cast<void>(post_am_x(self.to, bytes.data(), size, COMP_NULL, counter_rcomp)
                              .runtime(self.runtime)());
        ++sent;
        messages.throws = throws;  // not from a post that waits
        int thrown = 0;
        while (messages.came < sent || counter_get_x(counter).runtime(self.runtime)() < sent) {
          try {
            progress_x().runtime(self.runtime)();
          } catch (const std::runtime_error&) {
            ++thrown;
          }
        }
        EXPECT_TRUE(messages.sound) << size;
        EXPECT_LE(thrown, throws ? 1 : 0);
        messages.throws = false;
        wait_drained_x().runtime(self.runtime)();
        self.meet();
      }
      if (size <= 8000 && !simulated()) {
        EXPECT_EQ(allocator.allocated, 0) << size;
      }
    }
    EXPECT_EQ(allocator.allocated, allocator.freed);
    EXPECT_GT(allocator.freed, 0);
    free_comp_x{&handler}.runtime(self.runtime)();
    free_comp_x{&counter}.runtime(self.runtime)();
    set_allocator_x{&g_allocator_default}.runtime(self.runtime)();
  });
}

// One after the other: lent, and in packets that are returned.
TEST_P(Packet, LargeMessagesComeInTheMemoryOfEarlierOnes) {
  run(ranks(), [](rank_under_test& self) {
    packet_pool_impl_t& pool = *get_default_packet_pool_x().runtime(self.runtime)().p_impl;
    const size_t size = less_if_simulated<size_t>(100000, 9000);
    const auto kept = [&pool] {
      packet_pool_counters_t counted;
      pool.read(&counted);
      return counted.kept_bytes;
    };
    lent_messages messages;
    lent_messages::current = &messages;
    messages.expected = make_message(self.from, 1, size);
    comp_t handler =
        alloc_handler_x(lent_messages::on_message).lend_am(true).runtime(self.runtime)();
    comp_t queue = alloc_cq_x().zero_copy_am(true).runtime(self.runtime)();
    const rcomp_t lent = register_rcomp_x(handler).runtime(self.runtime)();
    const rcomp_t in_packets = register_rcomp_x(queue).runtime(self.runtime)();
    self.meet();
    const auto bytes = make_message(self.rank, 1, size);
    std::set<const void*> buffers;
    for (int i = 1; i <= 10; ++i) {
      static_cast<void>(
          post_am_x(self.to, bytes.data(), size, COMP_NULL, lent).runtime(self.runtime)());
      while (messages.came < i) progress_x().runtime(self.runtime)();
      EXPECT_TRUE(messages.sound);
      buffers.insert(messages.buffer);
      static_cast<void>(
          post_am_x(self.to, bytes.data(), size, COMP_NULL, in_packets).runtime(self.runtime)());
      status_t came;
      while ((came = cq_pop_x(queue).runtime(self.runtime)()).is_retry()) {
        progress_x().runtime(self.runtime)();
      }
      EXPECT_EQ(came.size, size);
      EXPECT_EQ(std::memcmp(came.buffer, messages.expected.data(), size), 0);
      buffers.insert(came.buffer);
      put_upacket_x{came.buffer}.runtime(self.runtime)();
      EXPECT_GE(kept(), size);
      self.meet();
    }
    EXPECT_LE(buffers.size(), 2u);
    wait_drained_x().runtime(self.runtime)();
    self.meet();
    free_comp_x{&handler}.runtime(self.runtime)();
    free_comp_x{&queue}.runtime(self.runtime)();
  });
}

// A pool of the program outlives a net context with which its packets are registered.
TEST(PacketPool, ANetContextMayEndBeforeThePool) {
  run(1, [](rank_under_test& self) {
    packet_pool_t pool = alloc_packet_pool_x().runtime(self.runtime)();
    net_context_t context = alloc_net_context_x().runtime(self.runtime)();
    device_t device =
        alloc_device_x().runtime(self.runtime).net_context(context).packet_pool(pool)();
    rt::packet* const one = pool.p_impl->get_for(100000);
    ASSERT_TRUE(rt::loose_packets::region_of(*one, *context.p_impl->net).ok());
    free_device_x{&device}.runtime(self.runtime)();
    free_net_context_x{&context}.runtime(self.runtime)();
    one->put();
    free_packet_pool_x{&pool}.runtime(self.runtime)();
  });
}

TEST(PacketPool, APoolThatRunsOutStillDelivers) {
  global_attr_t defaults;
  defaults.npackets = 4;
  run(
      2,
      [](rank_under_test& self) {
        std::vector<void*> mine;
        // Some may be in use for messages that are here already.
        while (void* packet = get_upacket_x().runtime(self.runtime)()) mine.push_back(packet);
        EXPECT_LE(mine.size(), 4u);
        // Unexpected messages need room.
        for (uint64_t i = 0; i < 20; ++i) {
          EXPECT_TRUE(post_send_x(self.to, &i, 8, i, COMP_NULL).runtime(self.runtime)().is_done());
        }
        self.meet();
        for (uint64_t i = 0; i < 20; ++i) {
          uint64_t got = ~i;
          static_cast<void>(post_recv_x(self.from, &got, 8, i, COMP_NULL).runtime(self.runtime)());
          EXPECT_EQ(got, i);
        }
        for (void* packet : mine) put_upacket_x{packet}.runtime(self.runtime)();
      },
      defaults);
}

// One thread takes packets, another gives them back: they must come round again, with no more
// memory than is in use at a time.
TEST(PacketPool, PacketsThatOneThreadTakesAndAnotherGivesBackComeRound) {
  for (const size_t threshold : {size_t{0}, size_t{16}, size_t{4096}}) {
    global_attr_t defaults;
    defaults.packet_return_threshold = threshold;
    run(
        1,
        [threshold](rank_under_test& self) {
          packet_pool_impl_t& pool = *get_default_packet_pool_x().runtime(self.runtime)().p_impl;
          const int rounds = less_if_simulated(500, 5);
          constexpr size_t at_a_time = 100;
          std::set<rt::packet*> seen;
          std::vector<rt::packet*> out;
          std::atomic<int> turn{0};
          std::thread giver([&] {
            for (int round = 0; round < rounds; ++round) {
              while (turn.load() != 2 * round + 1) std::this_thread::yield();
              for (rt::packet* packet : out) packet->put();
              out.clear();
              ++turn;
            }
          });
          for (int round = 0; round < rounds; ++round) {
            while (turn.load() != 2 * round) std::this_thread::yield();
            while (out.size() < at_a_time) {
              out.push_back(pool.get());
              ASSERT_NE(out.back(), nullptr);
            }
            seen.insert(out.begin(), out.end());
            EXPECT_EQ(std::set<rt::packet*>(out.begin(), out.end()).size(), at_a_time);
            EXPECT_EQ(pool.in_use(), at_a_time);
            ++turn;
          }
          giver.join();
          EXPECT_EQ(pool.in_use(), 0u);
          // Some stay where only a steal finds them, so a few more may have been taken into use.
          EXPECT_LE(seen.size(), 2 * at_a_time) << "threshold " << threshold;
        },
        defaults);
  }
}

TEST(PacketPool, ManyThreadsTakeEveryPacketOnce) {
  global_attr_t defaults;
  defaults.npackets = 300;
  run(
      1,
      [](rank_under_test& self) {
        packet_pool_impl_t& pool = *get_default_packet_pool_x().runtime(self.runtime)().p_impl;
        constexpr int threads = 8;
        std::vector<std::thread> takers;
        std::atomic<int> taken_twice{0};
        for (int t = 0; t < threads; ++t) {
          takers.emplace_back([&pool, &taken_twice, t] {
            std::vector<rt::packet*> mine;
            for (int round = 0; round < less_if_simulated(2000, 50); ++round) {
              rt::packet* packet = pool.get();
              if (packet != nullptr) {
                std::memset(packet->payload(), t, 64);
                mine.push_back(packet);
              }
              if (packet != nullptr && mine.size() < static_cast<size_t>(20 + 10 * t)) continue;
              for (rt::packet* held : mine) {
                for (int i = 0; i < 64; ++i) taken_twice += held->payload()[i] != t ? 1 : 0;
                held->put();
              }
              mine.clear();
            }
            for (rt::packet* held : mine) held->put();
          });
        }
        for (std::thread& taker : takers) taker.join();
        EXPECT_EQ(taken_twice, 0);
        EXPECT_EQ(pool.in_use(), 0u);
        // All of them can be had, by a thread that has none.
        std::set<rt::packet*> all;
        while (rt::packet* packet = pool.get()) EXPECT_TRUE(all.insert(packet).second);
        EXPECT_EQ(all.size(), 300u);
        for (rt::packet* packet : all) packet->put();
      },
      defaults);
}

TEST(PacketPool, AnErrorNamesTheAttributesForWhichThereAreNoAddresses) {
  runtime_t runtime = alloc_runtime();
  const auto huge =
      alloc_packet_pool_x().runtime(runtime).npackets(size_t{1} << 30).packet_size(65536);
  std::vector<packet_pool_t> pools;  // 64 TiB of addresses each, of which a process has 128
  std::string error;
  try {
    while (pools.size() < 4) pools.push_back(huge());
  } catch (const std::bad_alloc& thrown) {
    error = thrown.what();
  }
  EXPECT_THAT(error, testing::AllOf(testing::HasSubstr("npackets is 1073741824"),
                                    testing::HasSubstr("packet_size 65536"),
                                    testing::HasSubstr("see ulimit -v")));
  for (packet_pool_t& pool : pools) free_packet_pool(&pool);
  free_runtime(&runtime);
}

TEST(PacketRegions, CoverEveryPacketAndAreMadeWhenOneOfThemIsSent) {
  runtime_t runtime = alloc_runtime();
  packet_pool_t pool = alloc_packet_pool_x().runtime(runtime).npackets(2000)();
  // Not on the stack, where the address sanitizer does not keep its alignment.
  const auto made = std::make_unique<rt::fake_network>(0);
  rt::fake_network& network = *made;
  {
    rt::packet_regions regions(network, *pool.p_impl);
    std::vector<rt::packet*> taken;
    while (rt::packet* each = pool.p_impl->get()) taken.push_back(each);
    EXPECT_EQ(taken.size(), 2000u);
    EXPECT_THROW(regions.of(*taken[0]), std::runtime_error);
    network.set_room(100);
    const net::local_region first = regions.of(*taken[0]);
    EXPECT_EQ(regions.of(*taken[1]).handle, first.handle);
    EXPECT_EQ(network.open(), 1u);
    for (rt::packet* each : taken) {
      EXPECT_TRUE(network.covers(regions.of(*each), each->header(net::max_header_size),
                                 net::max_header_size + pool.p_impl->attr.packet_size));
    }
    EXPECT_EQ(network.open(), 4u);  // of 4 MiB
    for (rt::packet* each : taken) each->put();
  }
  EXPECT_EQ(network.open(), 0u);
  free_packet_pool(&pool);
  free_runtime(&runtime);
}

}  // namespace
}  // namespace lci
