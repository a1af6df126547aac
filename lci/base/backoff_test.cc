#include "lci/base/backoff.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace lci::base {
namespace {

// Rounds until the next yield.
unsigned rounds_to_yield(backoff* wait) {
  const unsigned yields = wait->yields();
  unsigned rounds = 0;
  for (wait->idle(); wait->yields() == yields; wait->idle()) ++rounds;
  EXPECT_EQ(wait->yields(), yields + 1);
  return rounds;
}

TEST(backoff, yields_after_so_many_rounds_as_there_is_a_crowd_or_not) {
  for (int i = 0; i < 100; ++i) {
    const bool in_crowd = crowd::found();
    backoff wait;
    const unsigned rounds = rounds_to_yield(&wait);
    if (in_crowd) {
      EXPECT_GE(rounds, backoff::least_rounds_in_crowd);
      EXPECT_LE(rounds, backoff::most_rounds_in_crowd);
    } else {
      EXPECT_EQ(rounds, backoff::rounds_alone);
    }
    wait.reset();
    EXPECT_EQ(wait.yields(), 0u);
  }
}

// Threads that only yield, more of them than processors: each finds that there are others. (One
// find is enough, and the test continues until then, so that nothing depends on the speed of the
// machine.)
TEST(backoff, a_crowd_is_found) {
  const unsigned threads = 2 * std::max(1u, std::thread::hardware_concurrency());
  std::atomic<unsigned> have_found{0};
  std::vector<std::thread> all;
  for (unsigned i = 0; i < threads; ++i) {
    all.emplace_back([&] {
      bool found = false;
      while (have_found.load() < threads) {
        // Long enough for a yield to this thread to take long.
        for (int pauses = 0; pauses < 1000; ++pauses) cpu_pause();
        crowd::yield();
        if (!found && crowd::found()) {
          found = true;
          ++have_found;
        }
      }
    });
  }
  for (std::thread& thread : all) thread.join();
  EXPECT_EQ(have_found.load(), threads);
}

// Short waits. Each ends before it would yield.
TEST(backoff, many_short_waits_in_a_crowd_give_the_processor_away_in_the_end) {
  const unsigned threads = 2 * std::max(1u, std::thread::hardware_concurrency());
  std::atomic<unsigned> have_yielded{0};
  std::vector<std::thread> all;
  for (unsigned i = 0; i < threads; ++i) {
    all.emplace_back([&] {
      bool counted = false;
      while (have_yielded.load() < threads) {
        unsigned rounds = 0;
        unsigned yields = 0;
        while (crowd::found() && yields == 0 && rounds < backoff::most_idle_rounds) {
          backoff wait;
          wait.idle();
          ++rounds;
          yields = wait.yields();
        }
        if (yields > 0 && !counted) {
          counted = true;
          ++have_yielded;
        }
        for (int pauses = 0; pauses < 1000; ++pauses) cpu_pause();
        crowd::yield();
      }
    });
  }
  for (std::thread& thread : all) thread.join();
  EXPECT_EQ(have_yielded.load(), threads);
}

// Two threads that wait for the same number of rounds each time would swap their processors in
// step.
TEST(backoff, threads_have_different_random_numbers) {
  const auto numbers = [] {
    std::vector<unsigned> result;
    std::thread([&] {
      for (int i = 0; i < 16; ++i) result.push_back(crowd::random(1000));
    }).join();
    return result;
  };
  std::vector<unsigned> own;
  for (int i = 0; i < 16; ++i) own.push_back(crowd::random(1000));
  for (unsigned number : own) EXPECT_LT(number, 1000u);
  EXPECT_NE(numbers(), own);
}

// More threads than cores pass a token around; without yields, each pass takes a time slice.
TEST(backoff, a_ring_of_many_threads_makes_progress) {
  constexpr int threads = 16;
  constexpr int rounds = 200;
  std::atomic<int> turn{0};
  std::vector<std::thread> ring;
  for (int me = 0; me < threads; ++me) {
    ring.emplace_back([me, &turn] {
      for (int round = 0; round < rounds; ++round) {
        backoff wait;
        while (turn.load(std::memory_order_acquire) != round * threads + me) wait.idle();
        turn.fetch_add(1, std::memory_order_release);
      }
    });
  }
  for (std::thread& thread : ring) thread.join();
  EXPECT_EQ(turn.load(), threads * rounds);
}

}  // namespace
}  // namespace lci::base
