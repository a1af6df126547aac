#include "lci/ds/spinlock.h"

#include <mutex>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace lci::ds {
namespace {

TEST(Spinlock, TryLockFailsWhileItIsHeld) {
  spinlock lock;
  ASSERT_TRUE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock());
  lock.unlock();
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

TEST(Spinlock, OneThreadAtATime) {
  spinlock lock;
  int counter = 0;  // not atomic
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5000; ++i) {
        if (i % 2 == 0) {
          const std::lock_guard<spinlock> guard(lock);
          ++counter;
        } else {
          while (!lock.try_lock()) std::this_thread::yield();
          ++counter;
          lock.unlock();
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter, 40000);
}

}  // namespace
}  // namespace lci::ds
