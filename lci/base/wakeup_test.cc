#include "lci/base/wakeup.h"

#include <poll.h>

#include <atomic>
#include <thread>

#include "gtest/gtest.h"

namespace lci::base {
namespace {

// `timeout` in milliseconds; -1: no limit.
bool is_readable(const wakeup& of, int timeout) {
  pollfd waits = {of.descriptor(), POLLIN, 0};
  return poll(&waits, 1, timeout) == 1;
}

TEST(Wakeup, OnlyWhoIsArmedIsWokenAndOnce) {
  wakeup tested;
  ASSERT_TRUE(tested.open());
  tested.wake();
  EXPECT_FALSE(is_readable(tested, 0));
  tested.arm();
  EXPECT_TRUE(tested.is_armed());
  EXPECT_FALSE(is_readable(tested, 0));
  tested.wake();
  EXPECT_FALSE(tested.is_armed());
  EXPECT_TRUE(is_readable(tested, 0));
  tested.arm();
  EXPECT_FALSE(is_readable(tested, 0));
  tested.disarm();
  tested.wake();
  EXPECT_FALSE(is_readable(tested, 0));
}

TEST(Wakeup, RingingNeedsNobodyArmed) {
  wakeup tested;
  ASSERT_TRUE(tested.open());
  tested.ring();
  tested.ring();
  EXPECT_TRUE(is_readable(tested, 0));
}

TEST(Wakeup, OneThatIsNotOpenHasNobodyToWake) {
  wakeup tested;
  tested.arm();
  tested.wake();
  EXPECT_FALSE(tested.is_armed());
  EXPECT_EQ(tested.descriptor(), -1);
}

// Would hang if work could arrive unnoticed between the last look and the sleep.
TEST(Wakeup, NoWorkIsLeftBehindASleep) {
  constexpr int pieces = 20000;
  wakeup tested;
  ASSERT_TRUE(tested.open());
  std::atomic<int> left{0};
  std::atomic<int> seen{0};
  std::thread other([&] {
    for (int i = 1; i <= pieces; ++i) {
      left.store(i, std::memory_order_relaxed);
      tested.wake();
      while (seen.load(std::memory_order_acquire) < i) std::this_thread::yield();
    }
  });
  int done = 0;
  while (done < pieces) {
    tested.arm();
    if (left.load(std::memory_order_relaxed) == done) {
      ASSERT_TRUE(is_readable(tested, -1));
    }
    tested.disarm();
    done = left.load(std::memory_order_relaxed);
    seen.store(done, std::memory_order_release);
  }
  other.join();
}

}  // namespace
}  // namespace lci::base
