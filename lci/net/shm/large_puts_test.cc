#include "lci/net/shm/large_puts.h"

#include <deque>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace lci::net::shm {
namespace {

constexpr size_t size = 1000;
constexpr int trial = path_selector::trial;

// A stream of puts, `window` of them under way at most. A put through the kernel takes the sender's
// time when it begins, unless `kernel_waits`; a put through the ring ends when the sender polls,
// one after the other. The sender polls after each `window` puts, and when a post answers retry.
struct stream {
  stream(int64_t kernel, int64_t through_ring, size_t most_under_way = 1, bool waits = false)
      : kernel_ns(kernel), ring_ns(through_ring), window(most_under_way), kernel_waits(waits) {}

  int64_t kernel_ns;
  int64_t ring_ns;
  const size_t window;
  const bool kernel_waits;  // a put through the kernel ends like one through the ring

  path_selector selector;
  int64_t clock = 1;
  int ring = 0;  // puts that went through the ring

  struct put {
    copy_path path;
    int64_t begin;
  };
  std::deque<put> under_way;

  void poll() {
    if (under_way.empty()) return;
    const put oldest = under_way.front();
    under_way.pop_front();
    clock += oldest.path == copy_path::ring ? ring_ns : kernel_ns;
    selector.ended(oldest.path, size, oldest.begin, clock);
  }

  // Returns the share that went through the ring.
  double run(int count) {
    const int before = ring;
    for (int i = 0; i < count;) {
      const std::optional<copy_path> path =
          under_way.size() < window ? selector.next() : std::nullopt;
      if (!path) {
        poll();
        continue;
      }
      ++i;
      if (static_cast<size_t>(i) % window == 0) poll();
      selector.began(*path);
      if (*path == copy_path::ring) ++ring;
      if (*path == copy_path::ring || kernel_waits) {
        under_way.push_back({*path, clock});
        continue;
      }
      const int64_t begin = clock;
      clock += kernel_ns;
      selector.ended(copy_path::kernel, size, begin, clock);
    }
    return static_cast<double>(ring - before) / count;
  }
};

class PathSelectorInAStream : public testing::TestWithParam<size_t> {};

TEST_P(PathSelectorInAStream, FindsTheFasterPath) {
  for (const bool kernel_waits : {false, true}) {
    stream slow_ring(1000, 5000, GetParam(), kernel_waits);
    slow_ring.run(1000);
    EXPECT_LT(slow_ring.run(100000), 0.02) << kernel_waits;
    stream fast_ring(5000, 1000, GetParam(), kernel_waits);
    fast_ring.run(1000);
    EXPECT_GT(fast_ring.run(100000), 0.98) << kernel_waits;
  }
}

// 4 puts of the slower way, each 20 times as long, in 2480 puts or more of the faster one.
TEST_P(PathSelectorInAStream, TrialsTakeAThirtySecondOfTheTime) {
  stream s(100, 2000, GetParam());
  s.run(1000);
  const int64_t begin = s.clock;
  s.ring = 0;
  s.run(100000);
  EXPECT_LT(s.ring * s.ring_ns, (s.clock - begin) / 16);
  EXPECT_GT(s.ring, 0);
}

TEST_P(PathSelectorInAStream, FollowsAChange) {
  stream s(1000, 3000, GetParam());
  s.run(1000);
  s.kernel_ns = 5000;
  s.run(2000);
  EXPECT_GT(s.run(10000), 0.9);
  s.kernel_ns = 1000;
  s.run(2000);
  EXPECT_LT(s.run(10000), 0.1);
}

TEST_P(PathSelectorInAStream, StaysWithTheKernelWhenTheTimesAreSimilar) {
  stream s(1000, 950, GetParam(), true);
  EXPECT_LT(s.run(10000), 0.1);
}

INSTANTIATE_TEST_SUITE_P(Windows, PathSelectorInAStream, testing::Values(1, 2, 8, 64));

// A trial waits for what is under way, and holds back what comes while it is.
TEST(PathSelector, ATrialRunsAlone) {
  path_selector selector;
  for (int i = 0; i < trial + 1; ++i) selector.began(*selector.next());
  for (int i = 0; i < trial; ++i) selector.ended(copy_path::kernel, size, i, i + 1);
  EXPECT_FALSE(selector.next().has_value());
  selector.gave_up(copy_path::kernel);
  for (int i = 0; i < trial; ++i) {
    ASSERT_EQ(selector.next(), copy_path::ring);
    selector.began(copy_path::ring);
  }
  EXPECT_FALSE(selector.next().has_value());
  selector.ended(copy_path::ring, size, 10, 11);
  EXPECT_EQ(selector.next(), copy_path::ring);
}

// Puts that begin concurrently with the last puts of a trial are not measured: here the kernel
// seems to take 100 times as long as it does, until these have ended.
TEST(PathSelector, PutsThatOverlapTheEndOfATrialAreNotMeasured) {
  path_selector selector;
  int64_t clock = 1;
  const auto put = [&](copy_path path, int64_t ns) {
    selector.began(path);
    selector.ended(path, size, clock, clock + ns);
    clock += ns;
  };
  for (int i = 0; i < trial; ++i) put(*selector.next(), 1000);
  ASSERT_EQ(selector.next(), copy_path::ring);
  selector.began(copy_path::ring);
  const int64_t straggler = clock;
  for (int i = 0; i < trial; ++i) put(copy_path::ring, 2000);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(selector.next(), copy_path::kernel);
    put(copy_path::kernel, 100000);
  }
  selector.ended(copy_path::ring, size, straggler, clock);
  while (selector.next() == copy_path::kernel) put(copy_path::kernel, 1000);
  for (int i = 0; i < trial; ++i) {
    ASSERT_EQ(selector.next(), copy_path::ring);
    put(copy_path::ring, 2000);
  }
  EXPECT_EQ(selector.next(), copy_path::kernel);
}

// Puts that were refused and are retried are not part of a trial, nor are puts that failed.
TEST(PathSelector, CountsOnlyFinishedPuts) {
  path_selector selector;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(selector.next(), copy_path::kernel);
  for (int i = 0; i < 100; ++i) {
    selector.began(copy_path::kernel);
    selector.gave_up(copy_path::kernel);
  }
  EXPECT_EQ(selector.next(), copy_path::kernel);
}

// A clock that differs between processors must not make a way look free for ever.
TEST(PathSelector, TimesThatRunBackCountAsNone) {
  stream s(1000, 1000, 1);
  s.selector.began(copy_path::kernel);
  s.selector.ended(copy_path::kernel, size, 5000, 4000);
  s.clock = 10000;
  s.run(200);
  EXPECT_LT(s.run(10000), 0.1);
}

TEST(PathSelector, AnyThreadAtAnyTime) {
  large_puts puts(2);
  std::vector<std::thread> threads;
  std::vector<int> done(4);
  for (size_t t = 0; t < done.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10000;) {
        const int rank = i % 2;
        const size_t bytes = i % 3 == 0 ? size_t{1} << 20 : size_t{1} << 16;
        const std::optional<copy_path> path = puts.next(rank, bytes);
        if (!path) {
          std::this_thread::yield();
          continue;
        }
        puts.began(*path, rank, bytes);
        if (i % 7 == 0) {
          puts.gave_up(*path, rank, bytes);
        } else {
          puts.ended(*path, rank, bytes, large_puts::now());
        }
        ++done[t];
        ++i;
      }
    });
  }
  for (std::thread& each : threads) each.join();
  for (const int count : done) EXPECT_EQ(count, 10000);
  // Nothing is under way any more, so that nothing is held back.
  for (int i = 0; i < 1000; ++i) {
    const std::optional<copy_path> path = puts.next(0, 1 << 16);
    ASSERT_TRUE(path.has_value());
    puts.began(*path, 0, 1 << 16);
    puts.ended(*path, 0, 1 << 16, large_puts::now());
  }
}

}  // namespace
}  // namespace lci::net::shm
