#include "lci/ds/lock_turns.h"

#include <cstdint>
#include <thread>

#include "gtest/gtest.h"

namespace lci::ds {
namespace {

struct fake_clock {
  static inline uint64_t now = 0;
  static uint64_t ticks() { return now; }
};

using turns = lock_turns<fake_clock>;

class LockTurns : public testing::Test {
 protected:
  LockTurns() { fake_clock::now = 1000000; }

  // Threads 1 and 2 take the lock in turn.
  void contend(uint32_t changes, uint64_t ticks_between) {
    for (uint32_t i = 0; i < changes; ++i) {
      fake_clock::now += ticks_between;
      tested_.begin_use(1 + i % 2);
    }
  }

  // (A pause belongs to a thread, so it takes another one to keep this thread's pause.)
  void use_in_another_thread(uint32_t number) {
    std::thread([&] { tested_.begin_use(number); }).join();
  }

  turns tested_;
};

TEST_F(LockTurns, NobodyWaitsForALockOfOneThread) {
  for (int i = 0; i < 100; ++i) tested_.begin_use(1);
  EXPECT_FALSE(tested_.must_wait(2));
}

TEST_F(LockTurns, NobodyWaitsForALockThatSeldomChangesHands) {
  contend(100, turns::soon);
  EXPECT_FALSE(tested_.must_wait(1));
  EXPECT_FALSE(tested_.must_wait(2));
}

TEST_F(LockTurns, AContendedLockBelongsToItsUserForATurn) {
  contend(turns::many_changes + 2, 10);
  const uint64_t begin = fake_clock::now;
  EXPECT_FALSE(tested_.must_wait(2)) << "whose turn it is";
  while (fake_clock::now < begin + turns::turn) {
    EXPECT_TRUE(tested_.must_wait(1));
    tested_.begin_use(2);
    fake_clock::now += 100;
  }
  fake_clock::now += turns::last_pause;
  EXPECT_FALSE(tested_.must_wait(1));
}

TEST_F(LockTurns, ATurnEndsWhenItsUserDoesNotUseTheLockAllTheTime) {
  contend(turns::many_changes + 2, 10);
  fake_clock::now += turns::active;
  EXPECT_FALSE(tested_.must_wait(1));
  EXPECT_FALSE(tested_.must_wait(3));
}

TEST_F(LockTurns, PausesGetLonger) {
  contend(turns::many_changes + 2, 10);
  EXPECT_TRUE(tested_.must_wait(1));
  // The turn of thread 2 would be over, but thread 1 does not look before its pause ends.
  fake_clock::now += turns::first_pause - 1;
  EXPECT_TRUE(tested_.must_wait(1));
  fake_clock::now += 1;
  use_in_another_thread(2);
  EXPECT_TRUE(tested_.must_wait(1));
  fake_clock::now += 2 * turns::first_pause - 1;
  EXPECT_TRUE(tested_.must_wait(1)) << "the second pause";
  fake_clock::now += 1;
  EXPECT_FALSE(tested_.must_wait(1)) << "no use meanwhile for longer than `active`";
}

TEST_F(LockTurns, ALockThatIsNoLongerContendedHasNoTurns) {
  contend(turns::many_changes + 2, 10);
  contend(2, turns::soon);
  EXPECT_FALSE(tested_.must_wait(3));
}

}  // namespace
}  // namespace lci::ds
