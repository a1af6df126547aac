#include "lci/ds/lock_bypass.h"

#include <array>
#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "lci/base/process_barrier.h"
#include "lci/ds/slow_barrier.h"

namespace lci::ds {
namespace {

using bypass = basic_lock_bypass<slow_barrier_atomics>;

// Numbers, each with a lock that the owner of the bypass does not take.
class numbers {
 public:
  void add_to(size_t which) {
    place& used = places_[which % places_.size()];
    {
      const bypass::try_section mine(bypass_, used.lock);
      if (mine) {
        ++used.number;
        return;
      }
    }
    add_with_lock_to(which);
  }
  // As a thread that never takes the short way.
  void add_with_lock_to(size_t which) {
    place& used = places_[which % places_.size()];
    const bypass::section mine(bypass_, used.lock);
    ++used.number;
  }
  bool is_mine() const { return bypass_.is_mine(); }
  size_t sum() const {
    size_t sum = 0;
    for (const place& each : places_) sum += each.number;
    return sum;
  }

 private:
  struct place {
    bypass::lock_type lock;
    size_t number = 0;
  };

  std::array<place, 4> places_;
  bypass bypass_;
};

void in_another_thread(const std::function<void()>& f) { std::thread(f).join(); }

TEST(LockBypass, BelongsToWhoIsAloneUntilAnotherComes) {
  if (!base::has_process_barrier())
    GTEST_SKIP() << "NOTHING WAS TESTED: the kernel has no membarrier";
  numbers all;
  const auto use = [&all](size_t times) {
    for (size_t i = 0; i < times; ++i) all.add_to(i);
  };
  constexpr size_t enough = size_t{64} * 4;
  EXPECT_FALSE(all.is_mine());
  use(enough);
  EXPECT_TRUE(all.is_mine());
  in_another_thread([&] {
    EXPECT_FALSE(all.is_mine());
    use(1);
  });
  EXPECT_FALSE(all.is_mine());
  use(2 * enough);
  EXPECT_FALSE(all.is_mine()) << "four times as many uses are needed now";
  use(2 * enough);
  EXPECT_TRUE(all.is_mine());
  all.add_with_lock_to(0);
  EXPECT_TRUE(all.is_mine()) << "its own locks do not end it";
  EXPECT_EQ(all.sum(), enough + 1 + 4 * enough + 1);
}

TEST(LockBypass, BelongsSoonToTheNextThreadAfterManyUses) {
  if (!base::has_process_barrier())
    GTEST_SKIP() << "NOTHING WAS TESTED: the kernel has no membarrier";
  constexpr size_t enough = size_t{64} * 5;  // the first of them may end the other's ownership
  constexpr size_t many = slow_barrier_atomics::many_uses;
  constexpr size_t turns = 20;
  numbers all;
  for (size_t turn = 0; turn < turns; ++turn) {
    in_another_thread([&] {
      for (size_t i = 0; i < enough; ++i) all.add_to(i);
      EXPECT_TRUE(all.is_mine());
      for (size_t i = 0; i < many; ++i) all.add_to(i);
      EXPECT_TRUE(all.is_mine());
    });
  }
  EXPECT_EQ(all.sum(), turns * (enough + many));
}

// (If a walk stayed inside the first bypass, the other thread would wait for it for ever.)
TEST(LockBypass, AWalkIsInsideOneBypassAtATime) {
  if (!base::has_process_barrier())
    GTEST_SKIP() << "NOTHING WAS TESTED: the kernel has no membarrier";
  std::array<bypass, 2> bypasses;
  bypass::lock_type lock;
  for (bypass& each : bypasses) {
    for (int i = 0; i < 64 * 4 * 2; ++i) const bypass::try_section mine(each, lock);
    ASSERT_TRUE(each.is_mine());
  }
  {
    bypass::owner_walk walk;
    EXPECT_TRUE(walk.enter(bypasses[0]));
    EXPECT_TRUE(walk.enter(bypasses[1]));
    in_another_thread([&] { const bypass::section other(bypasses[0], lock); });
    EXPECT_FALSE(bypasses[0].is_mine());
    EXPECT_TRUE(walk.enter(bypasses[1])) << "still inside";
    EXPECT_FALSE(walk.enter(bypasses[0])) << "no longer the owner";
    EXPECT_TRUE(walk.enter(bypasses[1]));
    EXPECT_TRUE(walk.may_use(lock));
    lock.lock();
    EXPECT_FALSE(walk.may_use(lock)) << "another thread uses what the lock guards";
    lock.unlock();
  }
  in_another_thread([&] { const bypass::section other(bypasses[1], lock); });
  EXPECT_FALSE(bypasses[1].is_mine()) << "the walk is over";
}

// Mostly one thread uses the numbers, so that it becomes the owner repeatedly; the others come now
// and then, by either way.
TEST(LockBypass, NoAdditionIsLost) {
  constexpr size_t others = 3;
  constexpr size_t rounds = 200;
  constexpr size_t uses = 1000;
  numbers all;
  std::vector<std::thread> threads;
  threads.emplace_back([&all] {
    for (size_t i = 0; i < rounds * uses; ++i) all.add_to(i);
  });
  for (size_t t = 0; t < others; ++t) {
    threads.emplace_back([&all, t] {
      for (size_t i = 0; i < rounds; ++i) {
        if (i % 2 == 0) {
          all.add_to(i + t);
        } else {
          all.add_with_lock_to(i + t);
        }
        std::this_thread::yield();
      }
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(all.sum(), rounds * uses + others * rounds);
}

}  // namespace
}  // namespace lci::ds
