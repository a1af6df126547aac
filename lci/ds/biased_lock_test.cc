#include "lci/ds/biased_lock.h"

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "lci/base/process_barrier.h"
#include "lci/ds/slow_barrier.h"

namespace lci::ds {
namespace {

using tested_lock = basic_biased_lock<slow_barrier_atomics>;

constexpr int few = slow_barrier_atomics::few_uses;
constexpr int many = slow_barrier_atomics::many_uses;

void lock(tested_lock& lock) {
  while (!lock.try_lock()) std::this_thread::yield();
}

void use(tested_lock& lock, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    ds::lock(lock);
    lock.unlock();
  }
}

void in_another_thread(const std::function<void()>& f) { std::thread(f).join(); }

TEST(BiasedLock, TryLockFailsWhileItIsHeld) {
  tested_lock lock;
  for (int i = 0; i < 200; ++i) {  // before and after the thread owns it
    ASSERT_TRUE(lock.try_lock());
    in_another_thread([&] { EXPECT_FALSE(lock.try_lock()); });
    lock.unlock();
  }
}

TEST(BiasedLock, BelongsToWhoUsesItAloneUntilAnotherComes) {
  if (!base::has_process_barrier())
    GTEST_SKIP() << "NOTHING WAS TESTED: the kernel has no membarrier";
  tested_lock lock;
  EXPECT_FALSE(lock.is_mine());
  use(lock, few);
  EXPECT_TRUE(lock.is_mine());
  in_another_thread([&] {
    EXPECT_FALSE(lock.is_mine());
    use(lock, 1);
  });
  EXPECT_FALSE(lock.is_mine());
  use(lock, 100);
  EXPECT_FALSE(lock.is_mine()) << "four times as many rounds are needed now";
  use(lock, 200);
  EXPECT_TRUE(lock.is_mine());
}

TEST(BiasedLock, BelongsSoonToTheNextThreadAfterManyUses) {
  if (!base::has_process_barrier())
    GTEST_SKIP() << "NOTHING WAS TESTED: the kernel has no membarrier";
  tested_lock lock;
  for (int i = 0; i < 20; ++i) {
    in_another_thread([&] {
      use(lock, 100);
      EXPECT_TRUE(lock.is_mine());
      use(lock, many);
      EXPECT_TRUE(lock.is_mine());
    });
  }
}

TEST(BiasedLock, UsesOfEarlierOwnershipsDoNotCount) {
  if (!base::has_process_barrier())
    GTEST_SKIP() << "NOTHING WAS TESTED: the kernel has no membarrier";
  tested_lock lock;
  int needed = 64;
  for (int uses = 0; uses <= many; uses += few) {
    use(lock, needed - 1);
    EXPECT_FALSE(lock.is_mine());
    use(lock, few);
    EXPECT_TRUE(lock.is_mine());
    in_another_thread([&] { use(lock, 1); });
    needed *= 4;
  }
}

// While threads live their numbers differ, so that only a few of them ever become owners.
TEST(BiasedLock, HasAFewOwnersAndWorksForOthers) {
  if (!base::has_process_barrier())
    GTEST_SKIP() << "NOTHING WAS TESTED: the kernel has no membarrier";
  tested_lock lock;
  int owners = 0;
  const std::function<void(int)> next = [&](int depth) {
    use(lock, many);
    if (lock.is_mine()) ++owners;
    if (depth > 0) in_another_thread([&] { next(depth - 1); });
    ASSERT_TRUE(lock.try_lock());
    lock.unlock();
  };
  next(10);
  EXPECT_EQ(owners, 8);
}

// Mostly one thread uses the lock, so that it becomes the owner repeatedly; other threads use the
// lock occasionally.
TEST(BiasedLock, OneThreadAtATime) {
  for (int round = 0; round < 20; ++round) {
    tested_lock lock;
    long counter = 0;  // not atomic
    long failures = 0;
    std::atomic<bool> stop{false};
    long mine = 0;
    std::vector<long> theirs(3);
    std::vector<std::thread> threads;
    for (size_t t = 0; t < theirs.size(); ++t) {
      threads.emplace_back([&, t] {
        for (int burst = 0; burst < 20; ++burst) {
          for (int i = 0; i < (burst % 5 == 0 ? 300 : 3); ++i) {
            ds::lock(lock);
            ++counter;
            lock.unlock();
            ++theirs[t];
          }
          for (int i = 0; i < 20; ++i) std::this_thread::yield();
        }
      });
    }
    std::thread often([&] {
      while (!stop.load()) {
        for (int i = 0; i < 100; ++i) {
          if (!lock.try_lock()) continue;
          const long before = counter;
          counter = before + 1;
          if (counter != before + 1) ++failures;
          lock.unlock();
          ++mine;
        }
        std::this_thread::yield();
      }
    });
    for (std::thread& thread : threads) thread.join();
    stop.store(true);
    often.join();
    long all = mine;
    for (const long one : theirs) all += one;
    EXPECT_EQ(counter, all);
    EXPECT_EQ(failures, 0);
  }
}

}  // namespace
}  // namespace lci::ds
