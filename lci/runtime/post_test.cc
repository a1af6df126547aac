// What a post answers, what a handler may do, and the kinds of completion objects. With one rank,
// which sends to itself.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "gtest/gtest.h"
#include "lci/api/lci.hpp"
#include "lci/testing/ranks/ranks.h"

namespace lci {
namespace {

// Counts messages, and frees them.
class message_counter : public comp_impl_t {
 public:
  void signal(status_t status) override {
    std::free(status.buffer);
    ++count;
  }
  std::atomic<int64_t> count{0};
};

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
    std::free(pop_from(runtime, queue).buffer);

    const status_t not_done = accepted(post_am_x(0, &small, 8, sync, rcomp)
                                           .runtime(runtime)
                                           .user_context(&mark)
                                           .allow_done(false));
    EXPECT_TRUE(not_done.is_posted());
    status_t signaled;
    EXPECT_TRUE(sync_test_x(sync, &signaled).runtime(runtime)());
    EXPECT_EQ(signaled.user_context, &mark);
    std::free(pop_from(runtime, queue).buffer);

    const status_t posted =
        accepted(post_am_x(0, large.data(), large.size(), sync, rcomp).runtime(runtime).tag(3));
    EXPECT_TRUE(posted.is_posted());
    sync_wait_x(sync, &signaled).runtime(runtime)();
    EXPECT_TRUE(signaled.is_done());
    EXPECT_EQ(signaled.buffer, large.data());
    status_t arrived = pop_from(runtime, queue);
    ASSERT_EQ(arrived.size, large.size());
    EXPECT_EQ(std::memcmp(arrived.buffer, large.data(), large.size()), 0);
    std::free(arrived.buffer);

    const status_t waited = accepted(post_am_x(0, large.data(), large.size(), sync, rcomp)
                                         .runtime(runtime)
                                         .tag(3)
                                         .allow_posted(false));
    EXPECT_TRUE(waited.is_done());
    EXPECT_FALSE(sync_test_x(sync, nullptr).runtime(runtime)());
    std::free(pop_from(runtime, queue).buffer);

    auto again = post_am_x(0, &small, 8, COMP_NULL, rcomp).runtime(runtime);
    EXPECT_TRUE(again().is_done());
    EXPECT_TRUE(again.tag(2)().is_done());
    for (tag_t tag : {0, 2}) {
      const status_t came = pop_from(runtime, queue);
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
      const status_t end = pop_from(runtime, ends);
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
      std::free(pop_from(runtime, queue).buffer);

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
                  pop_from(runtime, ends).is_done());
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

}  // namespace
}  // namespace lci
