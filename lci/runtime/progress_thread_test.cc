// Programs that only wait, with progress threads that make all progress. Over shared memory, where
// a thread has nothing to sleep on, and over libfabric, where it has.
#include "lci/runtime/device/progress_thread.h"

#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>

#include "gtest/gtest.h"
#include "lci/api/lci.hpp"
#include "lci/net/backend.h"
#include "lci/runtime/instance/runtime.h"
#include "lci/testing/ranks/ranks.h"
#include "lci/testing/ranks/signal_levels.h"

namespace lci {
namespace {

struct network {
  const char* name;
  attr_backend_t backend;
  int rails;
};

class ProgressThread : public testing::TestWithParam<network> {
 protected:
  void SetUp() override {
    if (!net::find_backend(GetParam().backend, true)->available()) {
      GTEST_SKIP() << "NOTHING WAS TESTED: " << GetParam().name << " is not on this machine";
    }
    defaults_.backend = GetParam().backend;
    defaults_.progress_thread = true;
    attr_.nrails = GetParam().rails;
  }

  // Two of them.
  void run_ranks(const std::function<void(rank_under_test&)>& body) {
    run(2, body, defaults_, attr_);
  }

  static rt::progress_thread::counts counts_of(const rank_under_test& self) {
    return self.runtime.p_impl->default_device()->own_thread()->now();
  }
  // Until its thread, which has been left alone, sleeps again and again.
  static void await_sleep(const rank_under_test& self) {
    const uint64_t before = counts_of(self).sleeps;
    while (counts_of(self).sleeps < before + 3) std::this_thread::yield();
  }

 private:
  global_attr_t defaults_;
  runtime_attr_t attr_;
};

TEST_P(ProgressThread, IsWokenForWhoOnlyWaits) {
  run_ranks([](rank_under_test& self) {
    constexpr size_t size = 300000;
    open_memory out(self, size), in(self, size);
    const signal_of sent(self, 1), arrived(self, 1);
    const block_t own =
        make_block_x(in.mr, 0, size).runtime(self.runtime).recv_signal(arrived.comp)();
    const block_t theirs = exchange(self, own)[static_cast<size_t>(self.to)];
    const block_t mine =
        make_block_x(out.mr, 0, size).runtime(self.runtime).send_signal(sent.comp)();
    for (tag_t round = 1; round <= 5; ++round) {
      out.set(0, make_message(self.rank, round, size));
      self.meet();
      await_sleep(self);
      static_cast<void>(post_put_block_x(mine, theirs).runtime(self.runtime)());
      for (const signal_of* each : {&arrived, &sent}) {
        signal_wait_x(each->comp).runtime(self.runtime).do_progress(false)();
      }
      EXPECT_EQ(in.bytes, make_message(self.from, round, size));
      sent.reset();
      arrived.reset();
    }
  });
}

// Messages that are coalesced behind the first one of a burst leave although no thread of the
// program polls.
TEST_P(ProgressThread, IsWokenForWhatABurstLeavesBehind) {
  run_ranks([](rank_under_test& self) {
    constexpr int burst = 20;
    for (int round = 0; round < 5; ++round) {
      await_sleep(self);
      for (int i = 0; i < burst; ++i) {
        uint64_t word = 1;
        while (post_am_x(self.to, &word, sizeof(word), COMP_NULL_RETRY, self.rcomp)
                   .runtime(self.runtime)()
                   .is_retry()) {
          std::this_thread::yield();
        }
      }
      for (int arrived = 0; arrived < burst;) {
        const status_t status = cq_pop_x(self.queue).runtime(self.runtime)();
        if (status.is_retry()) {
          std::this_thread::yield();
        } else {
          std::free(status.buffer);
          ++arrived;
        }
      }
    }
  });
}

// A thread without work polls once after each sleep. On a network with events, it sleeps as long as
// it may.
TEST_P(ProgressThread, ThatHasNothingToDoSleeps) {
  run_ranks([](rank_under_test& self) {
    constexpr uint64_t enough = 10;
    const bool is_notified = GetParam().backend == attr_backend_t::ofi;
    const auto slept = [is_notified](const rt::progress_thread::counts& of) {
      return is_notified ? of.long_sleeps : of.sleeps;
    };
    const auto deadline = std::chrono::steady_clock::now() + patience;
    // Something may still come at first.
    for (bool quiet = false; !quiet;) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      const rt::progress_thread::counts before = counts_of(self);
      rt::progress_thread::counts now;
      do {
        std::this_thread::yield();
        now = counts_of(self);
      } while (slept(now) < slept(before) + enough && now.polls < before.polls + 1000);
      quiet = slept(now) >= slept(before) + enough &&
              now.polls - before.polls <= slept(now) - slept(before) + 1;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Networks, ProgressThread,
                         testing::Values(network{"Shm", attr_backend_t::shm, 1},
                                         network{"ShmRails", attr_backend_t::shm, 3},
                                         network{"Ofi", attr_backend_t::ofi, 1},
                                         network{"OfiRails", attr_backend_t::ofi, 3}),
                         [](const testing::TestParamInfo<network>& each) {
                           return std::string(each.param.name);
                         });

}  // namespace
}  // namespace lci
