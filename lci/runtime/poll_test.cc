// When calls of progress give the processor away.
#include "lci/runtime/device/poll.h"

#include <chrono>
#include <cstdint>
#include <functional>

#include "gtest/gtest.h"
#include "lci/api/lci.hpp"
#include "lci/base/poll_backoff.h"
#include "lci/runtime/device/wait.h"
#include "lci/runtime/instance/runtime.h"
#include "lci/testing/ranks/ranks.h"

namespace lci {
namespace {

constexpr int many = 20 * static_cast<int>(base::poll_backoff::polls_alone);
// Of these, more than a stopped thread or two can explain.
constexpr uint32_t some_yields = 10;

uint32_t yields() { return rt::thread_polls::own.yields(); }

void poll(device_t device, int times = many) {
  for (int i = 0; i < times; ++i) progress_x().device(device)();
}

// One rank: nothing comes that it has not sent.
void run_alone(const std::function<void(rank_under_test&)>& body) { run(1, body); }

device_t quiet_device(const rank_under_test& self) {
  return alloc_device_x().runtime(self.runtime).am_poll_mask(-1)();
}

TEST(Poll, YieldsAfterManyPollsInVain) {
  run_alone([](rank_under_test& self) {
    device_t device = quiet_device(self);
    EXPECT_TRUE(device.get_attr_progress_yield());
    const uint32_t before = yields();
    while (yields() - before < some_yields) poll(device);
    free_device_x{&device}();
  });
}

// As a scheduler does that polls once after each task.
TEST(Poll, DoesNotYieldBetweenTasks) {
  run_alone([](rank_under_test& self) {
    device_t device = quiet_device(self);
    const uint32_t before = yields();
    for (int i = 0; i < many; ++i) {
      poll(device, 1);
      const auto end = std::chrono::steady_clock::now() + 20 * base::poll_backoff::least_work;
      while (std::chrono::steady_clock::now() < end) {
      }
    }
    // (A poll during which the thread was stopped looks like a slow network's.)
    EXPECT_LT(yields() - before, some_yields);
    free_device_x{&device}();
  });
}

TEST(Poll, DoesNotYieldOnDevicesThatSaySo) {
  run_alone([](rank_under_test& self) {
    device_t never = alloc_device_x().runtime(self.runtime).progress_yield(false)();
    EXPECT_FALSE(never.get_attr_progress_yield());
    device_t other = quiet_device(self);
    const uint32_t before = yields();
    poll(never);
    EXPECT_EQ(yields(), before);
    // One such device in a round is enough: the thread that polls it is not to be descheduled.
    for (int i = 0; i < many; ++i) {
      poll(other, 1);
      poll(never, 1);
    }
    EXPECT_EQ(yields(), before);
    free_device_x{&other}();
    free_device_x{&never}();
  });
}

// A call that waits anyway.
TEST(Poll, CallsThatBlockYieldOnEveryDevice) {
  run_alone([](rank_under_test& self) {
    for (const bool may_yield : {true, false}) {
      device_t device = alloc_device_x().runtime(self.runtime).progress_yield(may_yield)();
      const uint32_t before = yields();
      rt::wait_until(device.p_impl, {"a test"}, [before] { return yields() > before; });
      free_device_x{&device}();
    }
  });
}

// Where a device's lock is what another thread waits for, or the program's own.
TEST(Poll, DoesNotYieldInsideOfAHandler) {
  run_alone([](rank_under_test& self) {
    device_t device = quiet_device(self);
    device_t other = quiet_device(self);
    static device_t polled_inside;
    static int called;
    polled_inside = other;
    called = 0;
    comp_t handler = alloc_handler_x([](status_t) {
                       const uint32_t before = yields();
                       poll(polled_inside);
                       EXPECT_EQ(yields(), before);
                       ++called;
                     })
                         .lend_am(true)
                         .runtime(self.runtime)();
    const rcomp_t name = register_rcomp_x(handler).runtime(self.runtime)();
    static_cast<void>(accepted(post_am_x(self.rank, nullptr, 0, COMP_NULL_RETRY, name)
                                   .runtime(self.runtime)
                                   .device(device)));
    while (called == 0) poll(device, 1);
    const uint32_t before = yields();
    while (yields() == before) poll(other);
    deregister_rcomp_x(name).runtime(self.runtime)();
    free_comp_x{&handler}.runtime(self.runtime)();
    free_device_x{&other}();
    free_device_x{&device}();
  });
}

TEST(Poll, DoesNotYieldWhileOneOfSeveralDevicesMoves) {
  run_alone([](rank_under_test& self) {
    device_t busy = quiet_device(self);
    device_t idle[] = {quiet_device(self), quiet_device(self), quiet_device(self)};
    comp_t counter = alloc_counter_x().runtime(self.runtime)();
    const rcomp_t name = register_rcomp_x(counter).runtime(self.runtime)();
    rt::thread_polls::own.reset();
    const uint32_t before = yields();
    for (int i = 0; i < many; ++i) {
      static_cast<void>(accepted(post_am_x(self.rank, nullptr, 0, COMP_NULL_RETRY, name)
                                     .runtime(self.runtime)
                                     .device(busy)));
      for (const device_t each : idle) poll(each, 1);
      ASSERT_TRUE(progress_x().device(busy)().is_done());
    }
    EXPECT_EQ(yields(), before);
    deregister_rcomp_x(name).runtime(self.runtime)();
    free_comp_x{&counter}.runtime(self.runtime)();
    for (device_t& each : idle) free_device_x{&each}();
    free_device_x{&busy}();
  });
}

// The completions that another thread's polls have found.
TEST(Poll, AStatusThatIsTakenIsAMove) {
  run_alone([](rank_under_test& self) {
    device_t device = quiet_device(self);
    const uint32_t before = yields();
    for (int i = 0; i < many; ++i) {
      self.queue.p_impl->signal(status_t(errorcode_t::done));
      EXPECT_TRUE(cq_pop_x(self.queue).runtime(self.runtime)().is_done());
      poll(device, 1);
      self.sync.p_impl->signal(status_t(errorcode_t::done));
      EXPECT_TRUE(sync_test_x(self.sync, nullptr).runtime(self.runtime)());
      poll(device, 1);
    }
    EXPECT_EQ(yields(), before);
    free_device_x{&device}();
  });
}

}  // namespace
}  // namespace lci
