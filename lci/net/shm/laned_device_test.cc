// Beyond the conformance suite: threads that share a device of several lanes.
#include <array>
#include <condition_variable>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "lci/net/shm/backend.h"
#include "lci/testing/conformance/suite.h"

namespace lci::net::conformance {
namespace {

class ShmLanes : public Conformance {};

constexpr int lanes = 4;
constexpr uint32_t threads = 2 * lanes;  // that send
constexpr uint32_t messages = 100;       // of each

backend_under_test with_lanes(bool processes) {
  backend_under_test tested{"shm", &shm::backend, 2, processes};
  tested.device.shm_lanes = lanes;
  return tested;
}

// The immediate data of a message: the thread that has sent it, and which one of its messages it is.
constexpr uint32_t imm_of(uint32_t thread, uint32_t number) { return thread << 16 | number; }

// There is always room for what these tests send.
void send(device& dev, int to, uint32_t imm) {
  op message;
  message.inject = true;
  message.rank = to;
  message.imm = imm;
  EXPECT_TRUE(dev.post(message).is_done());
}

// One poll. Appends the immediate data of what it finds.
void poll(device& dev, std::vector<uint32_t>* found) {
  completion each[16];
  size_t count = 0;
  static_cast<void>(dev.poll(each, 16, &count));
  for (size_t i = 0; i < count; ++i) {
    found->push_back(each[i].imm);
    dev.release(each[i]);
  }
}

// A thread that calls functions for another thread, which waits meanwhile.
class helper {
 public:
  helper() : thread_([this] { work(); }) {}
  ~helper() {
    const std::function<void()> end;
    call(end);
    thread_.join();
  }
  void call(const std::function<void()>& function) {
    std::unique_lock<std::mutex> lock(mutex_);
    function_ = &function;
    changed_.notify_all();
    changed_.wait(lock, [this] { return function_ == nullptr; });
  }

 private:
  void work() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (bool ends = false; !ends;) {
      changed_.wait(lock, [this] { return function_ != nullptr; });
      ends = *function_ == nullptr;
      if (!ends) (*function_)();
      function_ = nullptr;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void()>* function_ = nullptr;  // null: none is to be called
  std::thread thread_;
};

// One thread polls, and finds the messages of all lanes, those of each sender in their order.
TEST_P(ShmLanes, AThreadFindsTheMessagesOfLanesThatNobodyPolls) {
  run([](rank_under_test& self) {
    if (self.rank == 1) {
      std::array<helper, threads> all;  // living at the same time, so with different places
      for (uint32_t i = 0; i < messages; ++i) {
        for (uint32_t t = 0; t < threads; ++t) {
          all[t].call([&] { send(self.dev, 0, imm_of(t, i)); });
        }
      }
    }
    self.barrier();
    if (self.rank == 0) {
      std::vector<uint32_t> found;
      while (found.size() < size_t{threads} * messages) poll(self.dev, &found);
      uint32_t next[threads] = {};
      for (const uint32_t imm : found) {
        const uint32_t thread = imm >> 16;
        ASSERT_LT(thread, threads);
        EXPECT_EQ(imm, imm_of(thread, next[thread]++));
      }
    }
    self.barrier();
  });
}

// A thread adopts the lane of another one that does not poll, leaves it while that thread polls, and
// adopts it again.
TEST_P(ShmLanes, ALaneThatItsThreadPollsIsLeftToIt) {
  run([](rank_under_test& self) {
    constexpr int some_polls = 64;  // so few that nobody looks at a lane twice meanwhile
    constexpr int many_turns = 1000;
    if (self.rank == 0) {
      helper other;
      std::vector<uint32_t> found;
      // To this rank itself, through the lane of the other thread.
      other.call([&] { send(self.dev, 0, 1); });
      while (found.empty()) poll(self.dev, &found);
      std::vector<uint32_t> found_by_other;
      for (int i = 0; i < many_turns; ++i) {
        for (int j = 0; j < some_polls; ++j) poll(self.dev, &found);
        other.call([&] {
          for (int j = 0; j < some_polls; ++j) poll(self.dev, &found_by_other);
        });
      }
      other.call([&] { send(self.dev, 0, 2); });
      for (int j = 0; j < some_polls; ++j) poll(self.dev, &found);
      EXPECT_EQ(found, std::vector<uint32_t>{1}) << "found by a thread that had left the lane";
      while (found.size() < 2) poll(self.dev, &found);
      EXPECT_EQ(found[1], 2u);
      EXPECT_TRUE(found_by_other.empty());
    }
    self.barrier();
  });
}

TEST_P(ShmLanes, AWrongNumberIsAnErrorOfAllRanks) {
  run([](rank_under_test& self) {
    device_config config;
    config.uid = 1;
    config.attr.shm_lanes = self.rank == 0 ? 65 : lanes;
    const auto made = self.network.make_device(config);
    ASSERT_FALSE(made.ok());
    EXPECT_NE(made.status().ToString().find("attribute shm_lanes is 65, not 0 to 64"),
              std::string::npos)
        << made.status().ToString();
  });
}

class ShmLanesOfProcesses : public Conformance {};

// After messages through all of its lanes, and for all lanes of this rank.
TEST_P(ShmLanesOfProcesses, ALossIsReportedOnceAfterAllMessages) {
  run_processes(1, [](rank_under_test& self) {
    std::array<helper, threads> all;
    if (self.rank == 1) {
      for (uint32_t t = 0; t < threads; ++t) {
        all[t].call([&] { send(self.dev, 0, imm_of(t, 0)); });
      }
      self.barrier();
      raise(SIGKILL);
    }
    self.barrier();
    uint32_t received = 0;
    int losses = 0;
    const auto poll_once = [&] {
      completion each[16];
      size_t count = 0;
      static_cast<void>(self.dev.poll(each, 16, &count));
      for (size_t i = 0; i < count; ++i) {
        EXPECT_EQ(each[i].rank, 1);
        if (each[i].kind == completion_kind::peer_failed) {
          EXPECT_EQ(received, threads);
          ++losses;
          continue;
        }
        EXPECT_EQ(each[i].kind, completion_kind::recv);
        ++received;
        self.dev.release(each[i]);
      }
    };
    while (losses == 0) poll_once();
    for (helper& each : all) {
      each.call([&] {
        op message;
        message.inject = true;
        message.rank = 1;
        EXPECT_EQ(self.dev.post(message).errorcode, errorcode_t::fatal);
        for (int i = 0; i < 1000; ++i) poll_once();
      });
    }
    EXPECT_EQ(losses, 1);
  });
}

// A put that this rank copies piece by piece as it polls.
TEST_P(ShmLanesOfProcesses, WhatALaneHasLeftIsNotDrained) {
  ASSERT_EQ(setenv("LCI_SHM_CMA", "off", 1), 0);
  run([](rank_under_test& self) {
    std::vector<unsigned char> bytes(size_t{4} << 20, static_cast<unsigned char>(self.rank + 1));
    const auto opened = self.network.register_memory(bytes.data(), bytes.size());
    ASSERT_TRUE(opened.ok());
    const remote_region remote = self.exchange(self.network.remote_key(*opened))[0];
    bool ended = false;
    const auto use = [&ended](const completion& found) {
      if (found.kind == completion_kind::put) ended = true;
    };
    helper other;
    if (self.rank == 1) {
      other.call([&] {
        op put;
        put.kind = op_kind::put;
        put.rank = 0;
        put.buffer = bytes.data();
        put.size = bytes.size();
        put.remote = remote;
        EXPECT_TRUE(self.dev.post(put).is_posted());
      });
      EXPECT_FALSE(self.dev.drained()) << "the ring does not hold all of it";
    }
    self.barrier();  // the target has not polled
    if (self.rank == 1) self.poll_until([&] { return ended && self.dev.drained(); }, use);
    self.polling_barrier(use);
    EXPECT_EQ(bytes.back(), 2);
    self.network.deregister_memory(*opened);
  });
  unsetenv("LCI_SHM_CMA");
}

INSTANTIATE_TEST_SUITE_P(Shm, ShmLanes, testing::Values(with_lanes(false)), name_of);
INSTANTIATE_TEST_SUITE_P(Shm, ShmLanesOfProcesses, testing::Values(with_lanes(true)), name_of);

}  // namespace
}  // namespace lci::net::conformance
