// The runtime through its public operations, with all ranks as threads of this process: each has a
// runtime of its own, made from an in-process bootstrap and joined to the others by the
// shared-memory backend.
#include "lci/runtime/instance/runtime.h"

#include <atomic>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "lci/api/lci.hpp"
#include "lci/boot/in_process.h"
#include "lci/testing/ranks/ranks.h"

namespace lci {
namespace {

void expect_message(const status_t& status, size_t size) {
  ASSERT_EQ(status.size, size);
  const auto* bytes = static_cast<const unsigned char*>(status.buffer);
  if (size == 0) {
    EXPECT_EQ(status.buffer, nullptr);
    return;
  }
  for (size_t i = 0; i < size; ++i) {
    ASSERT_EQ(bytes[i], pattern(status.rank, status.tag, i)) << "byte " << i << " of " << size;
  }
}

class Ranks : public rank_test {};
INSTANTIATE_TEST_SUITE_P(OneToFour, Ranks, testing::ValuesIn(one_to(4)));

const size_t all_sizes[] = {
    0,    1,    7,    8,    47,   48,   49,    64,      1000,          4096,    8175,         8176,
    8177, 8191, 8192, 8193, 8208, 9000, 65536, 1 << 20, (4 << 20) - 1, 4 << 20, (8 << 20) + 3};

TEST_P(Ranks, EverySizeToEveryRank) {
  run_job(ranks(), [](runtime_t runtime) {
    std::vector<size_t> sizes;
    for (size_t size : all_sizes) {
      if (size <= greatest_size()) sizes.push_back(size);
    }
    comp_t sent = alloc_counter_x().runtime(runtime)();
    comp_t queue = alloc_cq_x().runtime(runtime)();
    const rcomp_t rcomp = register_rcomp_x(queue).runtime(runtime)();
    barrier_x().runtime(runtime)();
    std::vector<std::vector<unsigned char>> messages;
    int64_t posted = 0;
    for (int to = 0; to < size_of(runtime); ++to) {
      for (size_t i = 0; i < sizes.size(); ++i) {
        messages.push_back(make_message(rank_of(runtime), i, sizes[i]));
        const status_t status = accepted(
            post_am_x(to, messages.back().data(), sizes[i], sent, rcomp).runtime(runtime).tag(i));
        if (status.is_posted()) ++posted;
      }
    }
    std::vector<std::vector<int>> seen(static_cast<size_t>(size_of(runtime)),
                                       std::vector<int>(sizes.size()));
    for (size_t n = 0; n < sizes.size() * static_cast<size_t>(size_of(runtime)); ++n) {
      const status_t status = pop_from(runtime, queue);
      ASSERT_LT(status.tag, sizes.size());
      expect_message(status, sizes[status.tag]);
      ++seen[static_cast<size_t>(status.rank)][status.tag];
      std::free(status.buffer);
    }
    for (const auto& from : seen) {
      for (int count : from) EXPECT_EQ(count, 1);
    }
    while (counter_get_x(sent).runtime(runtime)() < posted) progress_x().runtime(runtime)();
    EXPECT_EQ(counter_get_x(sent).runtime(runtime)(), posted);
    barrier_x().runtime(runtime)();
    deregister_rcomp_x{rcomp}.runtime(runtime)();
    free_comp_x{&queue}.runtime(runtime)();
    free_comp_x{&sent}.runtime(runtime)();
    EXPECT_TRUE(queue.is_empty());
  });
}

TEST_P(Ranks, LargeTagsAndRcompsTravelInAHeader) {
  run_job(ranks(), [](runtime_t runtime) {
    comp_t queue = alloc_cq_x().runtime(runtime)();
    const rcomp_t first = reserve_rcomps_x(40000).runtime(runtime)();
    const rcomp_t rcomp = register_rcomp_x(queue).runtime(runtime).rcomp(first + 39999)();
    EXPECT_GT(rcomp, runtime.get_attr_max_imm_rcomp());
    barrier_x().runtime(runtime)();
    const int to = (rank_of(runtime) + 1) % size_of(runtime);
    for (tag_t tag : {tag_t{0}, tag_t{0xffff}, tag_t{0x10000}, ~tag_t{0}}) {
      for (size_t size : {size_t{100}, less_if_simulated<size_t>(100000, 9000)}) {
        auto message = make_message(rank_of(runtime), tag, size);
        static_cast<void>(
            post_am_x(to, message.data(), size, COMP_NULL, rcomp).runtime(runtime).tag(tag)());
        const status_t status = pop_from(runtime, queue);
        expect_message(status, size);
        EXPECT_EQ(status.tag, tag);
        std::free(status.buffer);
        barrier_x().runtime(runtime)();
      }
    }
    free_comp_x{&queue}.runtime(runtime)();
  });
}

TEST_P(Ranks, BarrierHoldsEveryRankBack) {
  std::atomic<int> arrived{0};
  run_job(ranks(), [&](runtime_t runtime) {
    for (int round = 1; round <= less_if_simulated(50, 5); ++round) {
      arrived.fetch_add(1);
      barrier_x().runtime(runtime)();
      EXPECT_GE(arrived.load(), round * size_of(runtime));
      barrier_x().runtime(runtime)();
    }
  });
}

TEST_P(Ranks, AllgatherKeepsTheOrderOfRanks) {
  run_job(ranks(), [](runtime_t runtime) {
    for (size_t size :
         {size_t{0}, size_t{1}, size_t{1000}, less_if_simulated<size_t>(300000, 9000)}) {
      const auto mine = make_message(rank_of(runtime), 5, size);
      std::vector<unsigned char> all(size * static_cast<size_t>(size_of(runtime)));
      allgather_x(mine.data(), all.data(), size).runtime(runtime)();
      for (int r = 0; r < size_of(runtime); ++r) {
        for (size_t i = 0; i < size; ++i) {
          ASSERT_EQ(all[static_cast<size_t>(r) * size + i], pattern(r, 5, i));
        }
      }
    }
  });
}

// Writes "left then right": associative, not commutative. An item is a run of digits.
void append(const void* left, const void* right, void* dst, size_t n) {
  const auto* l = static_cast<const uint64_t*>(left);
  const auto* r = static_cast<const uint64_t*>(right);
  auto* d = static_cast<uint64_t*>(dst);
  for (size_t i = 0; i < n; ++i) {
    uint64_t shift = 1;
    while (shift <= r[i]) shift *= 10;
    d[i] = l[i] * shift + r[i];
  }
}

TEST_P(Ranks, AllreduceAppliesTheOperatorInTheOrderOfRanks) {
  run_job(ranks(), [](runtime_t runtime) {
    uint64_t expected = 0;
    for (int r = 0; r < size_of(runtime); ++r)
      expected = expected * 10 + static_cast<uint64_t>(r) + 1;
    for (size_t count : {size_t{1}, size_t{3}, less_if_simulated<size_t>(5000, 1100)}) {
      std::vector<uint64_t> in(count, static_cast<uint64_t>(rank_of(runtime)) + 1);
      std::vector<uint64_t> out(count);
      allreduce_x(in.data(), out.data(), count, sizeof(uint64_t), append).runtime(runtime)();
      for (uint64_t item : out) ASSERT_EQ(item, expected);
      allreduce_x(in.data(), in.data(), count, sizeof(uint64_t), append).runtime(runtime)();
      EXPECT_EQ(in, out);
    }
  });
}

TEST_P(Ranks, ManyThreadsPostAndProgressOneDevice) {
  constexpr int threads = 4;
  const int messages = less_if_simulated(500, 4);
  run_job(ranks(), [messages](runtime_t runtime) {
    comp_t received = alloc_cq_x().runtime(runtime)();
    const rcomp_t rcomp = register_rcomp_x(received).runtime(runtime)();
    barrier_x().runtime(runtime)();
    end_turns();
    const int64_t expected = int64_t{threads} * messages * size_of(runtime);
    std::atomic<int64_t> count{0};
    std::atomic<uint64_t> sum{0};
    std::vector<std::thread> workers;
    for (int t = 0; t < threads; ++t) {
      workers.emplace_back([&, t] {
        const auto drain = [&] {
          const status_t status = cq_pop_x(received).runtime(runtime)();
          if (status.is_retry()) return;
          uint64_t value;
          std::memcpy(&value, status.buffer, sizeof(value));
          std::free(status.buffer);
          sum += value;
          ++count;
        };
        for (int m = 0; m < messages; ++m) {
          for (int to = 0; to < size_of(runtime); ++to) {
            uint64_t value = static_cast<uint64_t>(t * messages + m);
            while (post_am_x(to, &value, sizeof(value), COMP_NULL_RETRY, rcomp)
                       .runtime(runtime)()
                       .is_retry()) {
              progress_x().runtime(runtime)();
              drain();
            }
          }
          drain();
        }
        base::backoff backoff;
        while (count < expected) {
          if (progress_x().runtime(runtime)().is_done()) {
            backoff.reset();
          } else {
            backoff.idle();
          }
          drain();
        }
      });
    }
    for (std::thread& worker : workers) worker.join();
    const uint64_t all = threads * static_cast<uint64_t>(messages);
    EXPECT_EQ(sum, all * (all - 1) / 2 * static_cast<uint64_t>(size_of(runtime)));
    barrier_x().runtime(runtime)();
    free_comp_x{&received}.runtime(runtime)();
  });
}

TEST_P(Ranks, ADevicePerThread) {
  constexpr int threads = 3;
  run_job(ranks(), [](runtime_t runtime) {
    comp_t received = alloc_counter_x().runtime(runtime)();
    const rcomp_t rcomp = register_rcomp_x(received).runtime(runtime)();
    barrier_x().runtime(runtime)();
    end_turns();
    const int messages = less_if_simulated(100, 5);
    const int64_t expected = int64_t{threads} * messages * size_of(runtime);
    std::vector<std::thread> workers;
    for (int t = 0; t < threads; ++t) {
      workers.emplace_back([&] {
        device_t device = alloc_device_x().runtime(runtime)();
        for (int m = 0; m < messages; ++m) {
          for (int to = 0; to < size_of(runtime); ++to) {
            static_cast<void>(post_am_x(to, nullptr, 0, COMP_NULL, rcomp).device(device)());
          }
        }
        base::backoff backoff;
        while (counter_get_x(received).runtime(runtime)() < expected) {
          if (!progress_x().device(device)().is_done()) backoff.idle();
        }
        wait_drained_x().device(device)();
        free_device_x{&device}.runtime(runtime)();
        EXPECT_TRUE(device.is_empty());
      });
    }
    for (std::thread& worker : workers) worker.join();
    EXPECT_EQ(counter_get_x(received).runtime(runtime)(), expected);
    barrier_x().runtime(runtime)();
    free_comp_x{&received}.runtime(runtime)();
  });
}

TEST(Runtime, BadAttributesAreNamed) {
  runtime_attr_t attr;
  attr.imm_nbits_tag = 17;
  const auto make = [](const runtime_attr_t& a, const global_attr_t& d) {
    // Not on the stack, which the address sanitizer aligns for less than it needs.
    std::make_unique<runtime_impl_t>(std::move(boot::make_in_process_job(1, patience)[0]), a, d);
  };
  EXPECT_THROW(make(attr, global_attr_t()), std::invalid_argument);
  global_attr_t defaults;
  defaults.packet_size = 1;
  EXPECT_THROW(make(runtime_attr_t(), defaults), std::invalid_argument);
  defaults = global_attr_t();
  defaults.npackets = 0;
  EXPECT_THROW(make(runtime_attr_t(), defaults), std::invalid_argument);
  defaults = global_attr_t();
  defaults.net_max_cqes = defaults.net_max_sends;
  EXPECT_THROW(make(runtime_attr_t(), defaults), std::invalid_argument);
  defaults = global_attr_t();
  defaults.backend = attr_backend_t::ucx;
  EXPECT_THROW(make(runtime_attr_t(), defaults), std::runtime_error);
}

// As programs do that only use the network of the device.
TEST(Runtime, DevicesNeedNoDefaultPacketPool) {
  runtime_attr_t attr;
  attr.alloc_default_packet_pool = false;
  run_job(
      1,
      [](runtime_t runtime) {
        EXPECT_THROW(get_default_packet_pool_x().runtime(runtime)(), std::logic_error);
        comp_t queue = alloc_cq_x().runtime(runtime)();
        const rcomp_t rcomp = register_rcomp_x(queue).runtime(runtime)();
        device_t device = alloc_device_x().runtime(runtime)();
        auto message = make_message(0, 1, 5000);
        for (device_t each : {device, get_default_device_x().runtime(runtime)()}) {
          barrier_x().runtime(runtime)();
          const auto send = post_am_x(0, message.data(), message.size(), COMP_NULL_RETRY, rcomp);
          while (post_am_x(send).device(each)().is_retry()) progress_x().device(each)();
          status_t arrived;
          while (!arrived.is_done()) {
            progress_x().device(each)();
            arrived = cq_pop_x(queue).runtime(runtime)();
          }
          EXPECT_EQ(arrived.size, message.size());
          std::free(arrived.buffer);
        }
        wait_drained_x().device(device)();
        barrier_x().runtime(runtime)();
        free_device_x{&device}.runtime(runtime)();
        free_comp_x{&queue}.runtime(runtime)();
      },
      attr, global_attr_t());
}

TEST(Runtime, SmallPacketsStillCarryEverything) {
  global_attr_t defaults;
  defaults.packet_size = 256;
  defaults.shm_eager_size = 0;
  run_job(
      2,
      [](runtime_t runtime) {
        comp_t queue = alloc_cq_x().runtime(runtime)();
        const rcomp_t rcomp = register_rcomp_x(queue).runtime(runtime)();
        barrier_x().runtime(runtime)();
        const int to = 1 - rank_of(runtime);
        constexpr size_t copied = 256;
        // Behind it, the network may take a message without a header.
        for (size_t size : {size_t{255}, copied, copied + net::max_header_size + 1, size_t{5000}}) {
          auto message = make_message(rank_of(runtime), size, size);
          comp_t sync = alloc_sync_x().runtime(runtime)();
          const status_t status =
              accepted(post_am_x(to, message.data(), size, sync, rcomp).tag(size).runtime(runtime));
          EXPECT_TRUE(status.is_done() == (size <= copied) || (simulated() && size > copied));
          const status_t arrived = pop_from(runtime, queue);
          expect_message(arrived, size);
          std::free(arrived.buffer);
          if (status.is_posted()) sync_wait_x(sync, nullptr).runtime(runtime)();
          free_comp_x{&sync}.runtime(runtime)();
          barrier_x().runtime(runtime)();
        }
        free_comp_x{&queue}.runtime(runtime)();
      },
      runtime_attr_t(), defaults);
}

}  // namespace
}  // namespace lci
