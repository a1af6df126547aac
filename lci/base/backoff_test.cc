#include "lci/base/backoff.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace lci::base {
namespace {

TEST(backoff, yields_after_so_many_rounds_as_there_is_a_crowd_or_not) {
  for (int i = 0; i < 100; ++i) {
    const unsigned rounds =
        crowd::found() ? poll_backoff::rounds_in_crowd : poll_backoff::rounds_alone;
    poll_backoff wait;
    for (unsigned round = 0; round < rounds; ++round) wait.idle();
    EXPECT_EQ(wait.yields(), 0u);
    wait.idle();
    EXPECT_EQ(wait.yields(), 1u);
    wait.reset();
    EXPECT_EQ(wait.yields(), 0u);
  }
}

// Threads that only yield, more of them than processors: each finds that there are others. (Once is
// enough, and it goes on until then: nothing here depends on how fast the machine is.)
TEST(backoff, a_crowd_is_found) {
  const unsigned threads = 2 * std::max(1u, std::thread::hardware_concurrency());
  std::atomic<unsigned> have_found{0};
  std::vector<std::thread> all;
  for (unsigned i = 0; i < threads; ++i) {
    all.emplace_back([&] {
      bool found = false;
      while (have_found.load() < threads) {
        // Long enough that a yield to it lasts.
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
