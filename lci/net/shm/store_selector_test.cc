#include "lci/net/shm/store_selector.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <vector>

namespace lci::net::shm {
namespace {

using std::chrono::nanoseconds;

constexpr size_t size = 8192;

// Copies of `size` bytes, which take so long.
struct stream {
  stream(nanoseconds cached_time, nanoseconds past_caches_time)
      : cached(cached_time), past_caches(past_caches_time) {}

  nanoseconds cached;
  nanoseconds past_caches;
  store_selector selector;
  int timed = 0;

  // Returns how many of `count` copies bypass the caches.
  int run(int count) {
    int bypassing = 0;
    for (int i = 0; i < count; ++i) {
      const store_selector::choice chosen = selector.next();
      const bool bypasses = chosen.kind == store_kind::past_caches;
      if (bypasses) ++bypassing;
      if (!chosen.timed) continue;
      ++timed;
      selector.took(chosen.kind, size, bypasses ? past_caches : cached);
    }
    return bypassing;
  }
};

TEST(StoreSelector, BeginsWithCachedStores) {
  stream copies(nanoseconds(700), nanoseconds(500));
  EXPECT_EQ(copies.run(1), 0);
}

TEST(StoreSelector, ChoosesTheFasterStores) {
  stream slow_caches(nanoseconds(700), nanoseconds(200));
  slow_caches.run(4);
  EXPECT_EQ(slow_caches.run(3), 3);
  stream fast_caches(nanoseconds(150), nanoseconds(400));
  fast_caches.run(6);
  EXPECT_EQ(fast_caches.run(3), 0);
}

TEST(StoreSelector, ChangesNothingForALittle) {
  stream copies(nanoseconds(200), nanoseconds(190));
  copies.run(1000);
  EXPECT_LE(copies.run(640), 640 / store_selector::most_between + 1);
}

// Of many copies one in 64 has the other stores, and as many are timed with the better ones.
TEST(StoreSelector, TriesTheOtherStoresSeldom) {
  for (const int past_caches : {200, 4000}) {
    stream copies(nanoseconds(700), nanoseconds(past_caches));
    copies.run(1000);
    copies.timed = 0;
    const int bypassing = copies.run(64 * store_selector::most_between);
    EXPECT_EQ(past_caches == 200 ? 64 * store_selector::most_between - bypassing : bypassing, 64);
    EXPECT_EQ(copies.timed, 128);
  }
}

TEST(StoreSelector, FollowsTheProcessors) {
  stream copies(nanoseconds(700), nanoseconds(200));
  for (int i = 0; i < 3; ++i) {
    copies.run(1000);
    copies.cached = nanoseconds(100);
    copies.run(2 * store_selector::most_between);
    EXPECT_LE(copies.run(100), 20);
    copies.run(1000);
    copies.cached = nanoseconds(700);
    copies.run(5 * store_selector::most_between);
    EXPECT_GE(copies.run(100), 80);
  }
}

// The thread loses its processor in one of its copies.
TEST(StoreSelector, OneLongTimeChangesNothing) {
  stream copies(nanoseconds(700), nanoseconds(200));
  copies.run(1000);
  for (int i = 0; i < 100; ++i) {
    copies.selector.took(store_kind::past_caches, size, std::chrono::milliseconds(4));
    copies.run(store_selector::most_between);
    EXPECT_GE(copies.run(store_selector::most_between), store_selector::most_between - 1);
  }
}

TEST(StoreSelector, ClocksMayStandStillOrRunBack) {
  stream copies(nanoseconds(0), nanoseconds(-5));
  copies.run(1000);
  EXPECT_LE(copies.run(640), 640 / store_selector::most_between + 1);
}

TEST(StoreSelector, CopiesWithEitherStores) {
  store_selector selector;
  for (size_t bytes = 1; bytes < 1000; ++bytes) {
    const std::vector<unsigned char> from(bytes, static_cast<unsigned char>(bytes));
    std::vector<unsigned char> to(bytes + 1);
    selector.copy(to.data(), from.data(), bytes);
    ASSERT_TRUE(std::equal(from.begin(), from.end(), to.begin())) << bytes;
    ASSERT_EQ(to[bytes], 0) << bytes;
  }
}

}  // namespace
}  // namespace lci::net::shm
