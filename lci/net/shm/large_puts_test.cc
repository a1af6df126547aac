#include "lci/net/shm/large_puts.h"

#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace lci::net::shm {
namespace {

constexpr size_t size = 1000;
constexpr int cycle = way_chooser::trial + way_chooser::between_trials;

// Puts one after the other, of which each takes what its way costs now, and counts the ways.
struct puts {
  way_chooser chooser;
  int64_t clock = 1;
  int64_t kernel_ns = 0;
  int64_t ring_ns = 0;

  // How many of `count` went through the ring.
  int through_ring(int count) {
    int ring = 0;
    for (int i = 0; i < count; ++i) {
      const way through = chooser.next();
      chooser.began(through);
      const int64_t begin = clock;
      clock += through == way::ring ? ring_ns : kernel_ns;
      chooser.note(through, size, begin, clock);
      if (through == way::ring) ++ring;
    }
    return ring;
  }
};

TEST(WayChooser, FindsTheFasterWay) {
  for (const bool ring_is_faster : {false, true}) {
    puts p;
    p.kernel_ns = ring_is_faster ? 3000 : 1000;
    p.ring_ns = 4000 - p.kernel_ns;
    p.through_ring(2 * cycle);
    const int ring = p.through_ring(100 * cycle);
    const int slower = ring_is_faster ? 100 * cycle - ring : ring;
    EXPECT_EQ(slower, 100 * way_chooser::trial) << (ring_is_faster ? "ring" : "kernel");
  }
}

TEST(WayChooser, FollowsAChange) {
  puts p;
  p.kernel_ns = 1000;
  p.ring_ns = 3000;
  p.through_ring(10 * cycle);
  p.kernel_ns = 5000;
  p.through_ring(2 * cycle);
  EXPECT_EQ(p.through_ring(10 * cycle), 10 * way_chooser::between_trials);
}

TEST(WayChooser, StaysWhereTheyAreAlike) {
  puts p;
  p.kernel_ns = 1000;
  p.ring_ns = 950;
  p.through_ring(cycle);
  EXPECT_EQ(p.through_ring(10 * cycle), 10 * way_chooser::trial);
}

// 8 at a time, which the network carries one after the other: each is over 8 times as long after
// its begin as it takes.
TEST(WayChooser, PutsThatAreUnderWayTogetherCountOnce) {
  way_chooser chooser;
  constexpr size_t window = 8;
  constexpr int64_t kernel_ns = 2000, ring_ns = 1000;
  struct put {
    way through;
    int64_t begin;
  };
  std::vector<put> under_way;
  int64_t clock = 1;
  int ring = 0;
  for (int i = 0; i < 102 * cycle; ++i) {
    under_way.push_back({chooser.next(), clock});
    chooser.began(under_way.back().through);
    if (i >= 2 * cycle && under_way.back().through == way::ring) ++ring;
    if (under_way.size() < window) continue;
    const put oldest = under_way.front();
    under_way.erase(under_way.begin());
    clock += oldest.through == way::ring ? ring_ns : kernel_ns;
    chooser.note(oldest.through, size, oldest.begin, clock);
  }
  EXPECT_EQ(ring, 100 * way_chooser::between_trials);
}

// Those that could not begin, and are asked for again, are no trial.
TEST(WayChooser, CountsWhatBegins) {
  way_chooser chooser;
  for (int i = 0; i < way_chooser::trial; ++i) chooser.began(way::kernel);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(chooser.next(), way::ring);
  for (int i = 0; i < way_chooser::trial; ++i) chooser.began(way::ring);
  EXPECT_EQ(chooser.next(), way::kernel);
}

// A clock that differs between processors must not make a way look free for ever.
TEST(WayChooser, TimesThatRunBackCountAsNone) {
  puts p;
  p.kernel_ns = 1000;
  p.ring_ns = 1000;
  p.chooser.note(way::ring, size, 5000, 4000);
  p.clock = 10000;
  p.through_ring(cycle);
  EXPECT_EQ(p.through_ring(10 * cycle), 10 * way_chooser::trial);
}

TEST(WayChooser, AnyThreadAtAnyTime) {
  large_puts puts(2);
  std::vector<std::thread> threads;
  std::vector<int> begun(4);
  for (size_t t = 0; t < begun.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10000; ++i) {
        const int rank = i % 2;
        const size_t bytes = i % 3 == 0 ? size_t{1} << 20 : size_t{1} << 16;
        const int64_t begin = large_puts::now();
        const way through = puts.next(rank, bytes);
        puts.began(through, rank, bytes);
        if (through == way::kernel || through == way::ring) ++begun[t];
        puts.note(through, rank, bytes, begin);
      }
    });
  }
  for (std::thread& each : threads) each.join();
  for (const int count : begun) EXPECT_EQ(count, 10000);
}

}  // namespace
}  // namespace lci::net::shm
