#include "lci/ds/thread_barrier.h"

#include <cstdint>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "lci/base/backoff.h"

namespace lci::ds {
namespace {

TEST(ThreadBarrier, TheLastOfEachRoundActs) {
  thread_barrier barrier(3);
  for (uint64_t round = 1; round < 4; ++round) {
    EXPECT_EQ(barrier.present(), 0u);
    EXPECT_FALSE(barrier.arrive().is_last);
    EXPECT_EQ(barrier.present(), 1u);
    EXPECT_FALSE(barrier.is_idle());
    EXPECT_FALSE(barrier.arrive().is_last);
    EXPECT_EQ(barrier.present(), 2u);
    const thread_barrier::arrival last = barrier.arrive();
    EXPECT_TRUE(last.is_last);
    EXPECT_EQ(last.round, round);
    EXPECT_FALSE(barrier.is_open(round));
    EXPECT_FALSE(barrier.is_idle());
    EXPECT_EQ(barrier.present(), 3u) << "the last one is at work";
    barrier.open(round);
    EXPECT_TRUE(barrier.is_open(round));
    EXPECT_TRUE(barrier.is_idle());
  }
}

TEST(ThreadBarrier, OneThreadIsAlwaysTheLast) {
  thread_barrier barrier(1);
  EXPECT_TRUE(barrier.arrive().is_last);
  barrier.open(1);
  EXPECT_EQ(barrier.arrive().round, 2u);
}

TEST(ThreadBarrier, ARoundThatIsBrokenOffNeverOpens) {
  thread_barrier barrier(2);
  const thread_barrier::arrival came = barrier.arrive();
  EXPECT_FALSE(barrier.is_broken(came.round));
  barrier.break_off();
  EXPECT_TRUE(barrier.is_broken(came.round));
  // Neither do those that come late count, however many there are: more than the bits can count
  // below the number of full rounds.
  uint64_t wrong = 0;
  for (uint64_t i = 0; i <= thread_barrier::most_threads + 100; ++i) {
    wrong += barrier.arrive().round;
  }
  EXPECT_EQ(wrong, 0u);
  EXPECT_FALSE(barrier.is_open(came.round));
  EXPECT_TRUE(barrier.is_broken(came.round));
  EXPECT_TRUE(barrier.is_idle());
}

TEST(ThreadBarrier, ARoundOfWhichAllHaveArrivedOpensAllTheSame) {
  thread_barrier barrier(2);
  static_cast<void>(barrier.arrive());
  const thread_barrier::arrival last = barrier.arrive();
  barrier.break_off();
  barrier.break_off();
  EXPECT_FALSE(barrier.is_broken(last.round));
  EXPECT_FALSE(barrier.is_idle());
  EXPECT_EQ(barrier.arrive().round, 0u);
  barrier.open(last.round);
  EXPECT_TRUE(barrier.is_open(last.round));
  EXPECT_TRUE(barrier.is_broken(last.round + 1));
  EXPECT_TRUE(barrier.is_idle());
}

TEST(ThreadBarrier, MoreThreadsThanProcessors) {
  constexpr uint64_t threads = 7;
  constexpr uint64_t rounds = 500;
  thread_barrier barrier(threads);
  std::vector<uint64_t> numbers(threads, 0);
  uint64_t sum = 0;  // written by the last of each round
  std::vector<uint64_t> wrong(threads, 0);
  std::vector<std::thread> running;
  for (uint64_t t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      for (uint64_t round = 1; round <= rounds; ++round) {
        numbers[t] = round;
        const thread_barrier::arrival came = barrier.arrive();
        if (came.is_last) {
          sum = 0;
          for (const uint64_t each : numbers) sum += each;
          barrier.open(came.round);
        }
        base::backoff backoff;
        while (!barrier.is_open(came.round)) backoff.idle();
        if (sum != round * threads) ++wrong[t];
      }
    });
  }
  for (std::thread& each : running) each.join();
  EXPECT_EQ(wrong, std::vector<uint64_t>(threads, 0));
}

}  // namespace
}  // namespace lci::ds
