// Atomic operations whose target is lost, is slow, or is asked for what it does not know.
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "lci/api/lci.hpp"
#include "lci/boot/bootstrap.h"
#include "lci/net/sim/backend.h"
#include "lci/runtime/core/rmr.h"
#include "lci/runtime/instance/runtime.h"
#include "lci/runtime/protocol/control.h"
#include "lci/testing/ranks/ranks.h"

namespace lci {
namespace {

// Two ranks, over the simulated network, which maps no memory.
constexpr size_t words_per_rank = 4;

struct joined {
  runtime_impl_t& impl;
  runtime_t runtime;
  uint64_t* words;
  rmr_t remote;  // the words of the other rank
  device_impl_t& device;
  boot::bootstrap& boot;

  // Both ranks have left the barrier before one of them stops to poll.
  void meet() const {
    barrier_x().runtime(runtime)();
    ASSERT_TRUE(boot.barrier("all have left the barrier", patience).ok());
  }

  post_fetch_atomic_x add(uint64_t value, uint64_t* former, comp_t comp) const {
    return post_fetch_atomic_x(1 - impl.rank(), atomic_op_t::add, value, former, 8, comp, 0, remote)
        .runtime(runtime);
  }
};

void run_pair(const std::function<void(joined&)>& body) {
  run_ranks(2, [&body](std::unique_ptr<boot::bootstrap> own) {
    boot::bootstrap& boot = *own;
    global_attr_t defaults;
    defaults.backend = attr_backend_t::sim;
    const auto impl = std::make_unique<runtime_impl_t>(std::move(own), runtime_attr_t(), defaults);
    const runtime_t runtime(impl.get());
    std::vector<uint64_t> words(words_per_rank);
    mr_t mr = register_memory_x(words.data(), words.size() * 8).runtime(runtime)();
    const rmr_t mine = get_rmr_x(mr).runtime(runtime)();
    rmr_t all[2];
    allgather_x(&mine, all, sizeof(mine)).runtime(runtime)();
    joined self{*impl, runtime, words.data(), all[1 - impl->rank()], *impl->default_device(), boot};
    body(self);
    deregister_memory_x{&mr}.runtime(runtime)();
  });
}

void end_together(const joined& self) {
  wait_drained_x().runtime(self.runtime)();
  barrier_x().runtime(self.runtime)();
}

TEST(AtomicFailureTest, OperationsThatWaitForALostRankEndWithFatal) {
  std::atomic<bool> is_over{false};
  run_pair([&is_over](joined& self) {
    self.meet();
    if (self.impl.rank() == 1) {
      while (!is_over) std::this_thread::yield();
      return;
    }
    constexpr int count = 20;
    uint64_t former[count] = {};
    comp_t queue = alloc_cq_x().runtime(self.runtime)();
    for (uint64_t& each : former) {
      EXPECT_TRUE(self.add(1, &each, queue).allow_retry(false)().is_posted());
    }
    EXPECT_FALSE(test_drained_x().runtime(self.runtime)().is_done());
    net::sim::fabric_of(*self.impl.default_net_context()->net)->lose(1);
    int ended = 0;
    bool is_notified = false;
    while (ended < count || !is_notified) {
      try {
        progress_x().runtime(self.runtime)();
      } catch (const peer_failure_error& error) {
        EXPECT_EQ(error.failed_rank(), 1);
        is_notified = true;
      }
      const status_t status = cq_pop_x(queue).runtime(self.runtime)();
      if (status.is_retry()) continue;
      EXPECT_EQ(status.error.errorcode, errorcode_t::fatal);
      EXPECT_EQ(status.rank, 1);
      ++ended;
    }
    EXPECT_THROW(static_cast<void>(self.add(1, &former[0], queue)()), peer_failure_error);
    EXPECT_THROW(static_cast<void>(self.add(1, &former[0], COMP_NULL)()), peer_failure_error);
    EXPECT_TRUE(self.device.atomics.idle());
    free_comp_x{&queue}.runtime(self.runtime)();
    is_over = true;
  });
}

TEST(AtomicFailureTest, APostThatWaitsForALostRankThrows) {
  std::atomic<bool> is_over{false};
  run_pair([&is_over](joined& self) {
    self.meet();
    if (self.impl.rank() == 1) {
      while (!is_over) std::this_thread::yield();
      return;
    }
    // Loses the rank when its operation waits for it.
    std::thread loser([&] {
      while (self.device.atomics.idle()) std::this_thread::yield();
      net::sim::fabric_of(*self.impl.default_net_context()->net)->lose(1);
    });
    uint64_t former = 0;
    EXPECT_THROW(static_cast<void>(self.add(1, &former, COMP_NULL)()), peer_failure_error);
    loser.join();
    is_over = true;
  });
}

// More operations than tickets.
TEST(AtomicFailureTest, OperationsWithoutATicketWaitInTheBacklogOrAreRetried) {
  run_pair([](joined& self) {
    self.device.atomics.set_limit(2);
    barrier_x().runtime(self.runtime)();
    constexpr uint64_t count = 100;
    comp_t counter = alloc_counter_x().runtime(self.runtime)();
    uint64_t former[count] = {};
    int refused = 0;
    bool has_waited = false;
    for (uint64_t i = 0; i < count; ++i) {
      // Every third one may be refused.
      const post_fetch_atomic_x add = self.add(1, &former[i], counter).allow_retry(i % 3 == 0);
      while (add().is_retry()) {
        ++refused;
        progress_x().runtime(self.runtime)();
      }
      if (!self.device.backlog.empty()) has_waited = true;
    }
    EXPECT_GT(refused, 0);
    EXPECT_TRUE(has_waited);
    while (counter_get_x(counter).runtime(self.runtime)() < static_cast<int64_t>(count)) {
      progress_x().runtime(self.runtime)();
    }
    uint64_t sum = 0;
    for (const uint64_t each : former) sum += each;
    EXPECT_EQ(sum, count * (count - 1) / 2) << "each value from 0 on is fetched once";
    free_comp_x{&counter}.runtime(self.runtime)();
    end_together(self);
    EXPECT_EQ(self.words[0], count);
  });
}

// A rank that sends anything as a request harms nobody.
TEST(AtomicFailureTest, MalformedRequestsAndRepliesAreRefused) {
  run_pair([](joined& self) {
    const int to = 1 - self.impl.rank();
    const auto send = [&](rt::message_kind kind, const auto& header, const void* bytes,
                          size_t size) {
      net::op op = rt::control_op(to, kind, header);
      op.buffer = const_cast<void*>(bytes);
      op.size = size;
      while (!self.device.net->post(op).is_done()) progress_x().runtime(self.runtime)();
    };
    const uint64_t address = self.remote.base;
    const uint64_t key = rt::rmr_region(self.remote).key;
    const rt::atomic_operands operands{1, 0};
    const rt::atomic_header headers[] = {
        {address, key, 1, 6, 8, 0},                       // no such operation
        {address, key, 1, 255, 8, 0},                     //
        {address, key, 1, 0, 3, 0},                       // no such size
        {address, key, 1, 0, 0, 0},                       //
        {address + 4, key, 1, 0, 8, 0},                   // not aligned
        {address + 1, key, 1, 0, 4, 0},                   //
        {address + 8 * words_per_rank, key, 1, 0, 8, 0},  // beyond the end
        {address - 8, key, 1, 0, 8, 0},                   // before the begin
        {~uint64_t{7}, key, 1, 0, 8, 0},                  //
        {0, key, 1, 0, 8, 0},                             //
        {address, key + 1, 1, 0, 8, 0},                   // another registration
        {address, 0, 1, 0, 8, 0},                         //
    };
    for (const rt::atomic_header& each : headers) {
      send(rt::message_kind::atomic, each, &operands, sizeof(operands));
    }
    // Too short.
    const rt::atomic_header whole{address, key, 1, 0, 8, 0};
    send(rt::message_kind::atomic, whole, &operands, 15);
    send(rt::message_kind::atomic, whole, nullptr, 0);
    send(rt::message_kind::atomic, operands, nullptr, 0);
    // Nobody has asked.
    send(rt::message_kind::atomic_reply, rt::atomic_reply_header{5, 0, rt::atomic_result::done},
         nullptr, 0);
    send(rt::message_kind::atomic_reply, operands.value, nullptr, 0);
    end_together(self);
    uint64_t former = 7;
    EXPECT_TRUE(self.add(1, &former, COMP_NULL)().is_done());
    EXPECT_EQ(former, 0u);
    end_together(self);
    EXPECT_EQ(std::vector<uint64_t>(self.words, self.words + words_per_rank),
              (std::vector<uint64_t>{1, 0, 0, 0}));
  });
}

}  // namespace
}  // namespace lci
