// A job over simulated devices (fake_verbs.h). Its ranks are threads of the test.
#ifndef LCI_TESTING_FAKE_VERBS_FAKE_JOB_H_
#define LCI_TESTING_FAKE_VERBS_FAKE_JOB_H_

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "lci/base/backoff.h"
#include "lci/boot/in_process.h"
#include "lci/net/ibv/context.h"
#include "lci/testing/fail_fast/fail_fast.h"
#include "lci/testing/fake_verbs/fake_verbs.h"

namespace lci::net::ibv {

constexpr std::chrono::seconds patience{60};

struct rank_of_test {
  int rank;
  boot::bootstrap& boot;
  rdma_context& network;
  std::unique_ptr<device>& owned_device;
  device& dev;
  std::vector<completion> seen;
  int barriers = 0;

  void barrier() { ASSERT_TRUE(boot.barrier(std::to_string(barriers++), patience).ok()); }
  void poll() {
    completion out[8];
    size_t count = 0;
    static_cast<void>(dev.poll(out, 8, &count));
    for (size_t i = 0; i < count; ++i) {
      seen.push_back(out[i]);
      if (out[i].kind == completion_kind::recv) dev.release(out[i]);
    }
  }
  void poll_until(const std::function<bool()>& done) {
    for (base::backoff backoff; !done(); wait(&backoff)) poll();
  }
  // Sleeps as long as the device allows; pauses by `backoff` where it has nothing to sleep on.
  void wait(base::backoff* backoff) {
    std::vector<pollfd> descriptors;
    for (const int each : dev.wait_descriptors()) descriptors.push_back({each, POLLIN, 0});
    const auto longest = descriptors.empty() ? std::chrono::microseconds(0) : dev.arm();
    const timespec until = {0, std::chrono::nanoseconds(longest).count()};
    if (longest.count() == 0) {
      backoff->idle();
    } else {
      ppoll(descriptors.data(), descriptors.size(), &until, nullptr);
    }
  }
  error_t post(const op& operation) {
    error_t result;
    poll_until([&] {
      result = dev.post(operation);
      return !result.is_retry();
    });
    return result;
  }
  size_t count(completion_kind kind) const {
    return static_cast<size_t>(std::count_if(
        seen.begin(), seen.end(), [kind](const completion& c) { return c.kind == kind; }));
  }
};

struct configuration {
  context_config network;
  device_config device;
  std::chrono::seconds boot_timeout = patience;
};

inline void run(int ranks, const configuration& config,
                const std::function<void(rank_of_test&)>& body) {
  const fail_fast guard;
  auto boots = boot::make_in_process_job(ranks, config.boot_timeout);
  std::vector<std::thread> threads;
  for (auto& boot : boots) {
    threads.emplace_back([&, own = std::move(boot)] {
      auto network = rdma_context::make_with(fake_verbs(), *own, config.network);
      ASSERT_TRUE(network.ok()) << network.status();
      auto made = (*network)->make_device(config.device);
      ASSERT_TRUE(made.ok()) << made.status();
      rank_of_test self{own->rank(), *own,   static_cast<rdma_context&>(**network),
                        *made,       **made, {}};
      body(self);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

inline op make_send(int to, const void* bytes, size_t size) {
  op send;
  send.inject = true;
  send.rank = to;
  send.buffer = const_cast<void*>(bytes);
  send.size = size;
  return send;
}

class Device : public testing::Test {
 protected:
  void SetUp() override { reset_fake(); }
  void TearDown() override {
    EXPECT_EQ(counts_of_fake().objects, 0) << "objects were not destroyed";
    EXPECT_EQ(counts_of_fake().overruns, 0);
    EXPECT_EQ(counts_of_fake().unacknowledged, 0)
        << "events: destroying a real queue would wait for them";
  }
};

}  // namespace lci::net::ibv

#endif  // LCI_TESTING_FAKE_VERBS_FAKE_JOB_H_
