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

status_t pop(comp_t queue, runtime_t runtime) {
  for (;;) {
    status_t status = cq_pop_x(queue).runtime(runtime)();
    if (status.is_done()) return status;
    progress_x().runtime(runtime)();
  }
}

// Counts messages, and frees them.
class message_counter : public comp_impl_t {
 public:
  void signal(status_t status) override {
    std::free(status.buffer);
    ++count;
  }
  std::atomic<int64_t> count{0};
};

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
      const status_t status = pop(queue, runtime);
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
        const status_t status = pop(queue, runtime);
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

// Tests that need one rank only.

TEST(Post, AnswersAsAskedFor) {
  run_job(1, [](runtime_t runtime) {
    comp_t sync = alloc_sync_x().runtime(runtime)();
    comp_t queue = alloc_cq_x().runtime(runtime)();
    const rcomp_t rcomp = register_rcomp_x(queue).runtime(runtime)();
    int mark = 0;
    uint64_t small = 17;
    std::vector<unsigned char> large = make_message(0, 3, less_if_simulated<size_t>(100000, 9000));

    const status_t done =
        accepted(post_am_x(0, &small, 8, sync, rcomp).runtime(runtime).tag(9).user_context(&mark));
    EXPECT_TRUE(done.is_done());
    EXPECT_EQ(done.rank, 0);
    EXPECT_EQ(done.buffer, &small);
    EXPECT_EQ(done.size, 8u);
    EXPECT_EQ(done.tag, 9u);
    EXPECT_EQ(done.user_context, &mark);
    EXPECT_FALSE(sync_test_x(sync, nullptr).runtime(runtime)());
    std::free(pop(queue, runtime).buffer);

    const status_t not_done = accepted(post_am_x(0, &small, 8, sync, rcomp)
                                           .runtime(runtime)
                                           .user_context(&mark)
                                           .allow_done(false));
    EXPECT_TRUE(not_done.is_posted());
    status_t signaled;
    EXPECT_TRUE(sync_test_x(sync, &signaled).runtime(runtime)());
    EXPECT_EQ(signaled.user_context, &mark);
    std::free(pop(queue, runtime).buffer);

    const status_t posted =
        accepted(post_am_x(0, large.data(), large.size(), sync, rcomp).runtime(runtime).tag(3));
    EXPECT_TRUE(posted.is_posted());
    sync_wait_x(sync, &signaled).runtime(runtime)();
    EXPECT_TRUE(signaled.is_done());
    EXPECT_EQ(signaled.buffer, large.data());
    status_t arrived = pop(queue, runtime);
    expect_message(arrived, large.size());
    std::free(arrived.buffer);

    const status_t waited = accepted(post_am_x(0, large.data(), large.size(), sync, rcomp)
                                         .runtime(runtime)
                                         .tag(3)
                                         .allow_posted(false));
    EXPECT_TRUE(waited.is_done());
    EXPECT_FALSE(sync_test_x(sync, nullptr).runtime(runtime)());
    std::free(pop(queue, runtime).buffer);

    auto again = post_am_x(0, &small, 8, COMP_NULL, rcomp).runtime(runtime);
    EXPECT_TRUE(again().is_done());
    EXPECT_TRUE(again.tag(2)().is_done());
    for (tag_t tag : {0, 2}) {
      const status_t came = pop(queue, runtime);
      EXPECT_EQ(came.tag, tag);
      std::free(came.buffer);
    }
    free_comp_x{&sync}.runtime(runtime)();
    free_comp_x{&queue}.runtime(runtime)();
  });
}

// Posts that name nothing but a device take the short ways: a post that may not be `done` signals
// its object once, and a receive as often, whether its message was there before or not.
TEST(Post, WhatMayNotBeDoneIsSignaledOnce) {
  run_job(1, [](runtime_t runtime) {
    const device_t device = get_default_device_x().runtime(runtime)();
    comp_t ends = alloc_cq_x().runtime(runtime)();
    comp_t queue = alloc_cq_x().runtime(runtime)();
    const rcomp_t rcomp = register_rcomp_x(queue).runtime(runtime)();
    uint64_t sent = 17;
    uint64_t got = 0;
    int mark = 0;
    mr_t mr = register_memory_x(&sent, sizeof(sent)).runtime(runtime)();
    const auto expect_posted = [&](auto op) {
      const status_t status = accepted(op.device(device).user_context(&mark).allow_done(false));
      EXPECT_TRUE(status.is_posted());
      EXPECT_EQ(status.user_context, &mark);
    };
    const auto expect_one_end = [&](const void* buffer, tag_t tag) {
      const status_t end = pop(ends, runtime);
      EXPECT_TRUE(end.is_done());
      EXPECT_EQ(end.rank, 0);
      EXPECT_EQ(end.buffer, buffer);
      EXPECT_EQ(end.size, sizeof(uint64_t));
      EXPECT_EQ(end.tag, tag);
      EXPECT_EQ(end.user_context, &mark);
      for (int i = 0; i < 10; ++i) progress_x().device(device)();
      EXPECT_TRUE(cq_pop_x(ends)().is_retry());
    };

    for (const bool names_mr : {false, true}) {
      const mr_t named = names_mr ? mr : MR_HOST;
      expect_posted(post_am_x(0, &sent, sizeof(sent), ends, rcomp).tag(3).mr(named));
      expect_one_end(&sent, 3);
      std::free(pop(queue, runtime).buffer);

      for (const bool receive_first : {true, false}) {
        const auto send = post_send_x(0, &sent, sizeof(sent), 5, COMP_NULL).mr(named);
        got = 0;
        if (!receive_first) {
          EXPECT_TRUE(accepted(post_send_x(send).device(device)).is_done());
          for (int i = 0; i < 10; ++i) progress_x().device(device)();
        }
        expect_posted(post_recv_x(0, &got, sizeof(got), 5, ends));
        if (receive_first) {
          EXPECT_TRUE(accepted(post_send_x(send).device(device)).is_done());
        }
        expect_one_end(&got, 5);
        EXPECT_EQ(got, sent);
      }
      expect_posted(post_send_x(0, &sent, sizeof(sent), 6, ends).mr(named));
      expect_one_end(&sent, 6);
      EXPECT_TRUE(accepted(post_recv_x(0, &got, sizeof(got), 6, ends).device(device)).is_done() ||
                  pop(ends, runtime).is_done());
    }
    // An object is needed.
    EXPECT_THROW(
        static_cast<void>(
            post_send_x(0, &sent, sizeof(sent), 5, COMP_NULL).device(device).allow_done(false)()),
        std::invalid_argument);

    deregister_memory_x{&mr}.runtime(runtime)();
    deregister_rcomp_x(rcomp).runtime(runtime)();
    free_comp_x{&queue}.runtime(runtime)();
    free_comp_x{&ends}.runtime(runtime)();
  });
}

TEST(Post, AFullNetworkIsRetryOrBacklogAndLosesNothing) {
  if (simulated()) GTEST_SKIP() << "it refuses at any time; see sim_stress_test.cc";
  run_job(1, [](runtime_t runtime) {
    message_counter counter;
    comp_t received(&counter);
    comp_t sent = alloc_counter_x().runtime(runtime)();
    const rcomp_t rcomp = register_rcomp_x(received).runtime(runtime)();
    std::vector<unsigned char> bytes(4096);
    int64_t accepted = 0;
    while (!post_am_x(0, bytes.data(), bytes.size(), sent, rcomp).runtime(runtime)().is_retry()) {
      ASSERT_LT(++accepted, 1000000) << "the ring never fills";
    }
    ASSERT_GT(accepted, 0);
    constexpr int64_t waiting = 100;
    for (int64_t i = 0; i < waiting; ++i) {
      const status_t status = post_am_x(0, bytes.data(), bytes.size(), sent, rcomp)
                                  .runtime(runtime)
                                  .allow_retry(false)();
      ASSERT_TRUE(status.is_posted());
      EXPECT_EQ(status.error.errorcode, errorcode_t::posted_backlog);
    }
    EXPECT_TRUE(test_drained_x().runtime(runtime)().is_retry());
    EXPECT_EQ(counter_get_x(sent).runtime(runtime)(), 0);
    wait_drained_x().runtime(runtime)();
    EXPECT_EQ(counter_get_x(sent).runtime(runtime)(), waiting);
    while (counter.count < accepted + waiting) progress_x().runtime(runtime)();
    free_comp_x{&sent}.runtime(runtime)();
  });
}

TEST(Post, MistakesAreNamedAndChangeNothing) {
  run_job(1, [](runtime_t runtime) {
    uint64_t value = 1;
    const auto post = [&](int rank, void* buffer, size_t size, rcomp_t rcomp) {
      return post_am_x(rank, buffer, size, COMP_NULL, rcomp).runtime(runtime);
    };
    EXPECT_THROW(static_cast<void>(post(-1, &value, 8, 1)()), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(post(1, &value, 8, 1)()), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(post(0, nullptr, 8, 1)()), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(post(0, &value, 8, 0)()), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(post(0, &value, 8, 1).allow_done(false)()),
                 std::invalid_argument);
    comp_t empty;
    EXPECT_THROW(sync_test_x(empty, nullptr).runtime(runtime)(), std::invalid_argument);
    comp_t counter = alloc_counter_x().runtime(runtime)();
    EXPECT_THROW(static_cast<void>(cq_pop_x(counter).runtime(runtime)()), std::invalid_argument);
    EXPECT_THROW(alloc_sync_x().threshold(0).runtime(runtime)(), std::invalid_argument);
    EXPECT_THROW(alloc_handler_x(nullptr).runtime(runtime)(), std::invalid_argument);
    EXPECT_THROW(register_rcomp_x(counter).rcomp(77).runtime(runtime)(), std::invalid_argument);
    free_comp_x{&counter}.runtime(runtime)();
    device_t device = get_default_device_x().runtime(runtime)();
    EXPECT_THROW(free_device_x{&device}.runtime(runtime)(), std::logic_error);
    EXPECT_TRUE(progress_x().runtime(runtime)().is_retry());
  });
}

TEST(Post, AnUnknownRcompIsReportedWhereItArrives) {
  run_job(1, [](runtime_t runtime) {
    message_counter received;
    comp_t failed = alloc_sync_x().runtime(runtime)();
    const rcomp_t rcomp = register_rcomp_x(comp_t(&received)).runtime(runtime)();
    uint64_t value = 1;
    static_cast<void>(post_am_x(0, &value, 8, COMP_NULL, 99).runtime(runtime)());
    // With allow_retry(false), since a post that waits may be the one that throws.
    comp_t sent = alloc_counter_x().runtime(runtime)();
    static_cast<void>(post_am_x(0, &value, 8, sent, rcomp).allow_retry(false).runtime(runtime)());
    progress_until_throw<std::runtime_error>(runtime);
    while (received.count < 1) progress_x().runtime(runtime)();  // the message behind it

    std::vector<unsigned char> large(less_if_simulated<size_t>(100000, 9000));
    ASSERT_TRUE(accepted(post_am_x(0, large.data(), large.size(), failed, 99).runtime(runtime))
                    .is_posted());
    progress_until_throw<std::runtime_error>(runtime);
    status_t status;
    sync_wait_x(failed, &status).runtime(runtime)();
    EXPECT_EQ(status.error.errorcode, errorcode_t::fatal);
    wait_drained_x().runtime(runtime)();
    free_comp_x{&sent}.runtime(runtime)();
    free_comp_x{&failed}.runtime(runtime)();
  });
}

// State of the handlers below, which are plain functions.
runtime_t handler_runtime;
rcomp_t handler_rcomp;
comp_t handler_counter;
comp_t handler_sent;

// Sends what came back, until it has counted down; the message is freed when it has been sent.
void reply(status_t status) {
  uint64_t left;
  std::memcpy(&left, status.buffer, sizeof(left));
  comp_signal_x(handler_counter, status).runtime(handler_runtime)();
  if (left == 0) {
    std::free(status.buffer);
    return;
  }
  --left;
  std::memcpy(status.buffer, &left, sizeof(left));
  const status_t sent = post_am_x(0, status.buffer, sizeof(left), handler_sent, handler_rcomp)
                            .runtime(handler_runtime)
                            .allow_done(false)
                            .allow_retry(false)();
  EXPECT_TRUE(sent.is_posted());
}

TEST(Handler, MayPost) {
  run_job(1, [](runtime_t runtime) {
    message_counter sent;
    handler_runtime = runtime;
    handler_counter = alloc_counter_x().runtime(runtime)();
    handler_sent = comp_t(&sent);
    comp_t handler = alloc_handler_x(reply).runtime(runtime)();
    handler_rcomp = register_rcomp_x(handler).runtime(runtime)();
    uint64_t hops = 20;
    static_cast<void>(
        post_am_x(0, &hops, sizeof(hops), COMP_NULL, handler_rcomp).runtime(runtime)());
    while (counter_get_x(handler_counter).runtime(runtime)() < 21) progress_x().runtime(runtime)();
    EXPECT_EQ(counter_get_x(handler_counter).runtime(runtime)(), 21);
    wait_drained_x().runtime(runtime)();
    EXPECT_EQ(sent.count, 20);
    free_comp_x{&handler}.runtime(runtime)();
    free_comp_x{&handler_counter}.runtime(runtime)();
  });
}

TEST(Handler, MayNotWait) {
  run_job(1, [](runtime_t runtime) {
    handler_runtime = runtime;
    comp_t sync = alloc_sync_x().runtime(runtime)();
    comp_t handler = alloc_handler_x([](status_t status) {
                       std::free(status.buffer);
                       sync_wait_x(handler_counter, nullptr).runtime(handler_runtime)();
                     }).runtime(runtime)();
    handler_counter = sync;
    const rcomp_t rcomp = register_rcomp_x(handler).runtime(runtime)();
    uint64_t value = 1;
    static_cast<void>(post_am_x(0, &value, 8, COMP_NULL, rcomp).runtime(runtime)());
    progress_until_throw<std::logic_error>(runtime);
    free_comp_x{&handler}.runtime(runtime)();
    free_comp_x{&sync}.runtime(runtime)();
  });
}

TEST(Completion, SynchronizerCollectsItsThreshold) {
  run_job(1, [](runtime_t runtime) {
    comp_t sync = alloc_sync_x().threshold(3).runtime(runtime)();
    for (int round = 0; round < 3; ++round) {
      status_t out[3];
      for (tag_t tag = 0; tag < 3; ++tag) {
        EXPECT_FALSE(sync_test_x(sync, out).runtime(runtime)());
        status_t status(errorcode_t::done);
        status.tag = tag;
        comp_signal_x(sync, status).runtime(runtime)();
      }
      EXPECT_THROW(comp_signal_x(sync, errorcode_t::done).runtime(runtime)(), std::logic_error);
      ASSERT_TRUE(sync_test_x(sync, out).runtime(runtime)());
      for (tag_t tag = 0; tag < 3; ++tag) EXPECT_EQ(out[tag].tag, tag);
    }
    free_comp_x{&sync}.runtime(runtime)();
  });
}

TEST(Completion, QueuesOfBothKindsKeepTheOrder) {
  const int length = less_if_simulated(4096, 64);
  run_job(1, [length](runtime_t runtime) {
    for (attr_cq_type_t type : {attr_cq_type_t::lcrq, attr_cq_type_t::array_atomic}) {
      comp_t queue = alloc_cq_x().cq_type(type).default_length(length).runtime(runtime)();
      EXPECT_EQ(queue.get_attr_cq_type(), type);
      EXPECT_TRUE(cq_pop_x(queue).runtime(runtime)().is_retry());
      for (tag_t tag = 0; tag < static_cast<tag_t>(length); ++tag) {
        status_t status(errorcode_t::done);
        status.tag = tag;
        comp_signal_x(queue, status).runtime(runtime)();
      }
      if (type == attr_cq_type_t::array_atomic) {
        EXPECT_THROW(comp_signal_x(queue, errorcode_t::done).runtime(runtime)(),
                     std::runtime_error);
      }
      for (tag_t tag = 0; tag < static_cast<tag_t>(length); ++tag) {
        EXPECT_EQ(cq_pop_x(queue).runtime(runtime)().tag, tag);
      }
      EXPECT_TRUE(cq_pop_x(queue).runtime(runtime)().is_retry());
      free_comp_x{&queue}.runtime(runtime)();
    }
  });
}

TEST(Completion, AProgramMayBringItsOwn) {
  struct largest_tag final : comp_impl_t {
    tag_t tag = 0;
    void signal(status_t status) override {
      tag = std::max(tag, status.tag);
      std::free(status.buffer);
    }
  };
  run_job(1, [](runtime_t runtime) {
    largest_tag own;
    const rcomp_t rcomp = register_rcomp_x(comp_t(&own)).runtime(runtime)();
    uint64_t value = 1;
    for (tag_t tag : {3, 8, 5}) {
      static_cast<void>(post_am_x(0, &value, 8, COMP_NULL, rcomp).tag(tag).runtime(runtime)());
    }
    while (own.tag != 8) progress_x().runtime(runtime)();
    EXPECT_EQ(comp_t(&own).get_attr_comp_type(), attr_comp_type_t::custom);
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
          const status_t arrived = pop(queue, runtime);
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
