#include "lci/net/shm/store_selector.h"

#include <gtest/gtest.h>

#include <chrono>

namespace lci::net::shm {
namespace {

using base::store_kind;
using std::chrono::nanoseconds;

constexpr size_t size = 8192;
constexpr int messages_of_eighth = 4;
constexpr int messages_of_lap = 8 * messages_of_eighth;

// What a message takes with these stores: the sender, and the receiver.
struct times {
  nanoseconds written;
  nanoseconds read;
};

// Messages of `size` bytes through a ring.
struct stream {
  stream(times of_cached, times of_past_caches) : cached(of_cached), past_caches(of_past_caches) {}

  times cached;
  times past_caches;
  store_selector selector;
  uint64_t sent = 0;
  int timed = 0;
  copy_cost read[2];
  bool receiver_reports = true;

  // Returns how many messages of `laps` bypass the caches.
  int run(int laps, bool alone = false) {
    int bypassing = 0;
    for (int i = 0; i < laps * messages_of_lap; ++i, ++sent) {
      const store_selector::choice chosen = selector.next(sent / messages_of_eighth, alone);
      const bool bypasses = chosen.stores == store_kind::past_caches;
      if (bypasses) ++bypassing;
      if (!chosen.timed) continue;
      ++timed;
      const times& took = bypasses ? past_caches : cached;
      selector.took(chosen.stores, size, took.written);
      if (!receiver_reports) continue;
      read[bypasses ? 1 : 0].took(size, took.read);
      selector.read_costs(read[0].per_byte(), read[1].per_byte());
    }
    return bypassing;
  }
};

times take(int written, int read) { return {nanoseconds(written), nanoseconds(read)}; }

constexpr int settled = 4 * store_selector::most_laps;
constexpr int whole_cycle = store_selector::most_laps + store_selector::trial_laps;

TEST(StoreSelector, BeginsWithCachedStores) {
  stream messages(take(700, 700), take(100, 100));
  EXPECT_EQ(messages.run(store_selector::least_laps), 0);
  EXPECT_EQ(messages.run(store_selector::trial_laps), store_selector::trial_laps * messages_of_lap);
}

TEST(StoreSelector, ChoosesTheFasterStores) {
  stream slow_caches(take(700, 500), take(200, 300));
  slow_caches.run(settled);
  EXPECT_EQ(slow_caches.run(10 * whole_cycle), 10 * store_selector::most_laps * messages_of_lap);
  stream fast_caches(take(150, 150), take(200, 400));
  fast_caches.run(settled);
  EXPECT_EQ(fast_caches.run(10 * whole_cycle), 10 * store_selector::trial_laps * messages_of_lap);
}

// On Zen 3, near processors.
TEST(StoreSelector, SlowReadsOutweighFastWrites) {
  stream messages(take(530, 240), take(330, 650));
  for (const bool alone : {false, true}) {
    messages.run(settled, alone);
    EXPECT_EQ(messages.run(whole_cycle, alone), store_selector::trial_laps * messages_of_lap);
  }
}

// On Zen 4, near processors: the receiver waits for a message that comes alone.
TEST(StoreSelector, OfAMessageAloneTheSumCounts) {
  stream messages(take(1000, 400), take(500, 700));
  messages.run(settled);
  EXPECT_EQ(messages.run(whole_cycle), store_selector::most_laps * messages_of_lap);
  EXPECT_EQ(messages.run(whole_cycle, /*alone=*/true),
            store_selector::trial_laps * messages_of_lap);
}

TEST(StoreSelector, LeavesTheCachesOnlyForMuch) {
  stream messages(take(200, 200), take(170, 170));
  messages.run(settled);
  EXPECT_EQ(messages.run(whole_cycle), store_selector::trial_laps * messages_of_lap);
}

TEST(StoreSelector, TimesMessagesOfTwoLapsInACycle) {
  stream messages(take(700, 700), take(200, 200));
  messages.run(settled);
  messages.timed = 0;
  messages.run(10 * whole_cycle);
  EXPECT_EQ(messages.timed, 10 * 2 * 8);
}

// Without the receiver's times nothing is known.
TEST(StoreSelector, NeedsTheTimesOfBothSides) {
  stream messages(take(700, 500), take(100, 100));
  messages.receiver_reports = false;
  messages.run(settled);
  EXPECT_EQ(messages.run(whole_cycle), store_selector::trial_laps * messages_of_lap);
}

TEST(StoreSelector, FollowsTheProcessors) {
  stream messages(take(700, 500), take(200, 300));
  for (int i = 0; i < 3; ++i) {
    messages.run(settled);
    messages.cached = take(100, 100);
    messages.run(settled);
    EXPECT_EQ(messages.run(whole_cycle), store_selector::trial_laps * messages_of_lap);
    messages.cached = take(700, 500);
    messages.run(settled);
    EXPECT_EQ(messages.run(whole_cycle), store_selector::most_laps * messages_of_lap);
  }
}

// A thread loses its processor in one of its copies.
TEST(StoreSelector, OneLongTimeChangesNothing) {
  stream messages(take(700, 500), take(200, 300));
  messages.run(settled);
  for (int i = 0; i < 100; ++i) {
    messages.selector.took(store_kind::past_caches, size, std::chrono::milliseconds(4));
    EXPECT_EQ(messages.run(whole_cycle), store_selector::most_laps * messages_of_lap);
  }
}

TEST(StoreSelector, ClocksMayStandStillOrRunBack) {
  stream messages(take(0, 0), take(-5, -5));
  messages.run(settled);
  EXPECT_EQ(messages.run(whole_cycle), store_selector::trial_laps * messages_of_lap);
}

TEST(CopyCost, IsTheMeanOfTheLastTimes) {
  copy_cost cost;
  EXPECT_EQ(cost.per_byte(), 0u);
  cost.took(1000, nanoseconds(50));
  EXPECT_EQ(cost.per_byte(), 51u);
  for (int i = 0; i < 30; ++i) cost.took(1000, nanoseconds(100));
  EXPECT_NEAR(cost.per_byte(), 101, 2);
  cost.took(1000, std::chrono::hours(1));
  EXPECT_LE(cost.per_byte(), 127u);
}

}  // namespace
}  // namespace lci::net::shm
