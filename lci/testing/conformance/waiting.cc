// Tests of sleeping instead of polling: a thread that follows backend.h misses no completion.
#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <functional>
#include <memory>
#include <vector>

#include "lci/base/backoff.h"
#include "lci/testing/conformance/operations.h"
#include "lci/testing/conformance/suite.h"

namespace lci::net::conformance {
namespace {

using std::chrono::microseconds;

// A device, and the only thread of its rank that polls it.
class sleeper {
 public:
  explicit sleeper(rank_under_test& owner) : owner_(owner) {
    device_config config;
    config.uid = 1;
    config.max_message = max_message;
    config.attr = Conformance::GetParam().device;
    config.attr.progress_thread = true;
    auto made = owner.network.make_device(config);
    EXPECT_TRUE(made.ok()) << made.status();
    if (!made.ok()) return;
    device_ = *std::move(made);
    for (const int each : device_->wait_descriptors()) descriptors_.push_back({each, POLLIN, 0});
    rank = std::make_unique<rank_under_test>(rank_under_test{
        owner.rank, owner.ranks, owner.boot, owner.network, *device_, /*barriers=*/3000});
    rank->connect();
  }

  device& dev() { return *device_; }
  size_t descriptors() const { return descriptors_.size(); }

  // Whether a descriptor is readable or becomes readable within that time.
  bool is_notified(std::chrono::nanoseconds longest) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(longest);
    const timespec until = {seconds.count(), (longest - seconds).count()};
    return ppoll(descriptors_.data(), descriptors_.size(), &until, nullptr) > 0;
  }

  // As rank_under_test::poll_until, but sleeps as long as the device allows. Fails if a long sleep
  // ends without a notification.
  void sleep_until(const std::function<bool()>& done,
                   const std::function<void(const completion&)>& use) {
    base::backoff backoff;
    while (!done()) {
      if (poll(use)) continue;
      const microseconds longest = device_->arm();
      ASSERT_LE(longest, device::long_sleep);
      if (longest == microseconds(0)) {
        backoff.idle();
      } else if (longest > device::short_sleep) {
        ASSERT_FALSE(descriptors_.empty());
        ASSERT_TRUE(is_notified(patience))
            << "no descriptor became readable although there was something to do";
      } else {
        is_notified(longest);
      }
    }
  }
  // Polls until the device allows a long sleep.
  void settle(const std::function<void(const completion&)>& use) {
    base::backoff backoff;
    while (poll(use) || device_->arm() <= device::short_sleep) backoff.idle();
  }

  // True if a completion came, or the network made progress.
  bool poll(const std::function<void(const completion&)>& use) {
    completion completions[8];
    size_t count = 0;
    const bool moved = device_->poll(completions, 8, &count).is_done();
    for (size_t i = 0; i < count; ++i) {
      use(completions[i]);
      if (completions[i].kind == completion_kind::recv) device_->release(completions[i]);
    }
    return moved;
  }

  std::unique_ptr<rank_under_test> rank;

 private:
  rank_under_test& owner_;
  std::unique_ptr<device> device_;
  std::vector<pollfd> descriptors_;
};

TEST_P(Conformance, LongSleepsNeedTheSetting) {
  run([](rank_under_test& self) {
    EXPECT_TRUE(self.dev.wait_descriptors().empty());
    EXPECT_LE(self.dev.arm(), device::short_sleep);
    sleeper asked(self);
    if (GetParam().notifies) {
      EXPECT_GT(asked.descriptors(), 0u);
    }
    self.barrier();
  });
}

// The first rank sends to the last one, which may be the same.
TEST_P(Conformance, AMessageKeepsADescriptorReadableUntilItIsPolled) {
  if (!GetParam().notifies) GTEST_SKIP() << "the backend has no descriptors to sleep on";
  run([](rank_under_test& self) {
    sleeper asked(self);
    const int receiver = self.ranks - 1;
    const bool receives = self.rank == receiver;
    int seen = 0;
    const auto see = [&](const completion& c) {
      EXPECT_EQ(c.kind, completion_kind::recv);
      EXPECT_EQ(c.imm, 7u);
      ++seen;
    };
    if (receives) asked.settle(ignore);
    asked.rank->barrier();
    if (self.rank == 0) {
      const uint64_t value = 42;
      ASSERT_TRUE(asked.rank->post(make_send(receiver, &value, 8, 7), ignore).is_done());
      if (!receives) asked.rank->poll_until([&] { return asked.dev().drained(); }, ignore);
    }
    if (receives) {
      // The descriptor may have become readable for another reason.
      do {
        ASSERT_TRUE(asked.is_notified(patience));
      } while (asked.dev().arm() > microseconds(0));
      EXPECT_EQ(asked.dev().arm().count(), 0) << "no thread has polled";
      asked.sleep_until([&] { return seen == 1; }, see);
    }
    asked.rank->barrier();
  });
}

// Bursts of messages, partly coalesced, and puts. The queues fill up now and then.
TEST_P(Conformance, ASleepingThreadMissesNothing) {
  run([](rank_under_test& self) {
    constexpr int rounds = 20;
    constexpr int burst = 5;
    sleeper asked(self);
    const int to = (self.rank + 1) % self.ranks;
    const size_t size = std::min<size_t>(asked.dev().limits().max_rma, 20000);
    std::vector<unsigned char> exposed(size);
    std::vector<unsigned char> local(size);
    const auto mine = self.network.register_memory(exposed.data(), size);
    const auto buffer = self.network.register_memory(local.data(), size);
    ASSERT_TRUE(mine.ok() && buffer.ok());
    const remote_region key = self.network.remote_key(*mine);
    const remote_region remote = self.exchange(key)[static_cast<size_t>(to)];
    const bool notifies = asked.dev().limits().has_put_imm;
    int messages = 0;
    int puts = 0;
    int ended = 0;
    const auto see = [&](const completion& c) {
      EXPECT_FALSE(c.failed);
      messages += c.kind == completion_kind::recv ? 1 : 0;
      puts += c.kind == completion_kind::remote_put ? 1 : 0;
      ended += c.kind == completion_kind::put ? 1 : 0;
    };
    const auto post = [&](const op& operation) {
      error_t result;
      asked.sleep_until(
          [&] {
            result = asked.dev().post(operation);
            return !result.is_retry();
          },
          see);
      return result;
    };
    for (int round = 1; round <= rounds; ++round) {
      const uint64_t value[4] = {};
      for (int i = 0; i < burst; ++i) {
        ASSERT_TRUE(post(make_send(to, value, sizeof(value), 0)).is_done());
      }
      op put;
      put.kind = notifies ? op_kind::put_imm : op_kind::put;
      put.rank = to;
      put.local = *buffer;
      put.buffer = local.data();
      put.size = size;
      put.remote = remote;
      const error_t result = post(put);
      ASSERT_TRUE(result.is_done() || result.is_posted());
      ended += result.is_done() ? 1 : 0;
      asked.sleep_until(
          [&] {
            return messages >= round * burst && (!notifies || puts >= round) && ended == round;
          },
          see);
    }
    asked.rank->poll_until([&] { return asked.dev().drained(); }, see);
    asked.rank->polling_barrier(see);
    EXPECT_EQ(messages, rounds * burst);
    EXPECT_EQ(puts, notifies ? rounds : 0);
    self.network.deregister_memory(*mine);
    self.network.deregister_memory(*buffer);
  });
}

// A descriptor that stays readable would cost more than polling. Heartbeats may make it readable.
TEST_P(Conformance, AnIdleDeviceKeepsItsDescriptorsQuiet) {
  if (!GetParam().notifies) GTEST_SKIP() << "the backend has no descriptors to sleep on";
  run([](rank_under_test& self) {
    constexpr int enough = 10;
    sleeper asked(self);
    // Messages that made the descriptor readable before.
    const uint64_t value = 42;
    int seen = 0;
    const auto see = [&](const completion&) { ++seen; };
    for (int to = 0; to < self.ranks; ++to) {
      ASSERT_TRUE(asked.rank->post(make_send(to, &value, 8, 7), see).is_done());
    }
    asked.sleep_until([&] { return seen == self.ranks && asked.dev().drained(); }, see);
    const auto deadline = std::chrono::steady_clock::now() + patience;
    for (int quiet = 0; quiet < enough;) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      const bool moved = asked.poll(see);
      const microseconds longest = asked.dev().arm();
      quiet += !moved && longest == device::long_sleep && !asked.is_notified(longest) ? 1 : 0;
    }
    asked.rank->barrier();
  });
}

// The thread learns it from the time limit of a sleep: a lost process may make no descriptor
// readable.
TEST_P(Conformance, ASleepingThreadLearnsOfALostRank) {
  const int ranks = GetParam().ranks;
  if (!GetParam().processes || ranks < 2)
    GTEST_SKIP() << "a rank that is lost has to be a process, of several";
  run_processes(1, [ranks](rank_under_test& self) {
    sleeper asked(self);
    asked.rank->barrier();
    const int victim = ranks - 1;
    if (self.rank == victim) raise(SIGKILL);
    int reports = 0;
    while (reports == 0) {
      const bool moved = asked.poll([&](const completion& c) {
        EXPECT_EQ(c.kind, completion_kind::peer_failed);
        EXPECT_EQ(c.rank, victim);
        ++reports;
      });
      if (!moved) asked.is_notified(asked.dev().arm());
    }
    EXPECT_EQ(reports, 1);
  });
}

}  // namespace
}  // namespace lci::net::conformance
