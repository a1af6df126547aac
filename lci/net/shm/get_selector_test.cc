#include "lci/net/shm/get_selector.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

namespace lci::net::shm {
namespace {

using std::chrono::nanoseconds;

constexpr size_t size = 65536;
constexpr int trial = get_selector::trial;
constexpr int whole_cycle = get_selector::between_trials + trial;
constexpr int settled = 4 * whole_cycle;

// Messages, one after the other, which take so long.
struct messages {
  nanoseconds got;
  nanoseconds put;
  get_selector selector = {};

  // Returns how many of `count` the receiver gets.
  int run(int count) {
    int gets = 0;
    for (int i = 0; i < count; ++i) {
      const bool is_got = selector.gets();
      if (is_got) ++gets;
      selector.came(is_got, size, is_got ? got : put);
    }
    return gets;
  }
};

TEST(GetSelector, ChoosesTheFasterWay) {
  messages faster_got{nanoseconds(7000), nanoseconds(9000)};
  EXPECT_EQ(faster_got.run(trial), trial);
  EXPECT_EQ(faster_got.run(trial), 0);
  faster_got.run(settled);
  EXPECT_EQ(faster_got.run(10 * whole_cycle), 10 * get_selector::between_trials);
  messages faster_put{nanoseconds(9000), nanoseconds(5000)};
  faster_put.run(settled);
  EXPECT_EQ(faster_put.run(10 * whole_cycle), 10 * trial);
}

TEST(GetSelector, BeginsAsAssumed) {
  messages some{nanoseconds(7000), nanoseconds(7000)};
  some.selector.assume(false);
  EXPECT_EQ(some.run(trial), 0);
  EXPECT_EQ(some.run(trial), trial);
}

TEST(GetSelector, ChangesNothingForALittle) {
  messages some{nanoseconds(7000), nanoseconds(6500)};
  some.run(settled);
  EXPECT_EQ(some.run(whole_cycle), get_selector::between_trials);
}

TEST(GetSelector, FollowsTheProcessors) {
  messages some{nanoseconds(9000), nanoseconds(5000)};
  for (int i = 0; i < 3; ++i) {
    some.run(settled);
    some.put = nanoseconds(15000);
    some.run(settled);
    EXPECT_EQ(some.run(whole_cycle), get_selector::between_trials);
    some.put = nanoseconds(5000);
    some.run(settled);
    EXPECT_EQ(some.run(whole_cycle), trial);
  }
}

// Of the messages that are put, seven in eight wait for their receives.
TEST(GetSelector, LateReceivesChangeNothing) {
  messages some{nanoseconds(9000), nanoseconds(5000)};
  some.run(settled);
  for (int i = 0; i < 10 * whole_cycle; ++i) {
    const bool is_late = i % trial != 0;
    const bool is_got = some.selector.gets();
    const nanoseconds put = is_late ? some.put + std::chrono::milliseconds(1) : some.put;
    some.selector.came(is_got, size, is_got ? some.got : put);
  }
  EXPECT_EQ(some.run(whole_cycle), trial);
}

// A message of the phase before ends in this one.
TEST(GetSelector, IgnoresMessagesOfTheOtherWay) {
  messages some{nanoseconds(7000), nanoseconds(9000)};
  some.run(settled);
  for (int i = 0; i < 10 * whole_cycle; ++i) {
    if (!some.selector.gets()) some.selector.came(/*got=*/true, size, nanoseconds(1));
    some.run(1);
  }
  EXPECT_EQ(some.run(whole_cycle), get_selector::between_trials);
}

TEST(GetSelector, TakesMessagesOfSeveralThreads) {
  get_selector selector;
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50 * whole_cycle; ++i) {
        const bool got = selector.gets();
        selector.came(got, size, nanoseconds(got ? 9000 : 5000));
      }
    });
  }
  for (std::thread& one : threads) one.join();
  int gets = 0;
  for (int i = 0; i < 2 * whole_cycle; ++i) {
    const bool got = selector.gets();
    if (got) ++gets;
    selector.came(got, size, nanoseconds(got ? 9000 : 5000));
  }
  EXPECT_LE(gets, 3 * trial);
}

TEST(GetSelectors, HaveOneForEachRankAndRangeOfSizes) {
  get_selectors all(2);
  EXPECT_TRUE(all.of(1, 40000).gets());
  EXPECT_TRUE(all.of(1, 100000).gets());
  EXPECT_FALSE(all.of(1, 200000).gets());
  EXPECT_FALSE(all.of(1, get_selectors::largest - 1).gets());
  EXPECT_EQ(&all.of(0, 40000), &all.of(0, 1));
  EXPECT_EQ(&all.of(0, 65536), &all.of(0, 131071));
  EXPECT_NE(&all.of(0, 65535), &all.of(0, 65536));
  EXPECT_NE(&all.of(0, 262143), &all.of(0, 262144));
  EXPECT_NE(&all.of(0, 40000), &all.of(1, 40000));
}

}  // namespace
}  // namespace lci::net::shm
