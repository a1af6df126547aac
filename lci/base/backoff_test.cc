#include "lci/base/backoff.h"

#include <atomic>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace lci::base {
namespace {

TEST(backoff, pauses_then_yields_until_reset) {
  backoff wait;
  for (unsigned i = 0; i < backoff::pauses_before_yield; ++i) {
    EXPECT_FALSE(wait.yielding()) << i;
    wait.idle();
  }
  EXPECT_TRUE(wait.yielding());
  wait.idle();
  EXPECT_TRUE(wait.yielding());
  wait.reset();
  EXPECT_FALSE(wait.yielding());
}

// More threads than cores hand a token around; without yields each hand-over lasts a time slice.
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
