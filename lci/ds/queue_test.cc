// Both queues must meet the same expectations. They are on the heap, as stacks of gcc's address
// sanitizer do not keep their alignment.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "lci/base/backoff.h"
#include "lci/base/process_barrier.h"
#include "lci/ds/array_queue.h"
#include "lci/ds/lcrq.h"

namespace lci::ds {
namespace {

// As large as a status, so that a torn copy is detected.
struct value {
  uint64_t producer;
  uint64_t number;
  uint64_t copies[5];
};

value make_value(uint64_t producer, uint64_t number) {
  value v{producer, number, {}};
  for (uint64_t& copy : v.copies) copy = number * 31 + producer;
  return v;
}

bool is_whole(const value& v) {
  for (uint64_t copy : v.copies) {
    if (copy != v.number * 31 + v.producer) return false;
  }
  return true;
}

// A small ring, so that rings change all the time.
#ifdef LCI_DS_HAS_WIDE_ATOMIC
struct wide {
  lcrq<value, std_atomics, wide_cell> queue{8};
  bool push(const value& v) { return queue.push(v), true; }
  bool pop(value* v) { return queue.try_pop(v); }
};
#endif
struct narrow {
  lcrq<value, std_atomics, narrow_cell> queue{8};
  bool push(const value& v) { return queue.push(v), true; }
  bool pop(value* v) { return queue.try_pop(v); }
};
// SPSC segments begin each time as soon as one thread has pushed and one has popped.
struct immediate_spsc_policy : default_spsc_policy {
  static constexpr uint64_t first_rounds = 1;
  static constexpr uint64_t most_rounds = 1;
};
struct spsc_segments {
  lcrq<value, std_atomics, default_cell, immediate_spsc_policy> queue{8};
  bool push(const value& v) { return queue.push(v), true; }
  bool pop(value* v) { return queue.try_pop(v); }
};
// The same, pushed by the function for several values.
struct spsc_runs {
  lcrq<value, std_atomics, default_cell, immediate_spsc_policy> queue{8};
  bool push(const value& v) {
    if (!queue.try_push(&v, 1)) queue.push(v);
    return true;
  }
  bool pop(value* v) { return queue.try_pop(v); }
};
struct fixed {
  array_queue<value> queue{64};
  bool push(const value& v) { return queue.try_push(v); }
  bool pop(value* v) { return queue.try_pop(v); }
};

template <class Queue>
class Queues : public testing::Test {};
using QueueTypes = testing::Types<fixed,
#ifdef LCI_DS_HAS_WIDE_ATOMIC
                                  wide,
#endif
                                  narrow, spsc_segments, spsc_runs>;
TYPED_TEST_SUITE(Queues, QueueTypes);

TYPED_TEST(Queues, IsEmptyAtFirst) {
  const auto owned = std::make_unique<TypeParam>();
  TypeParam& queue = *owned;
  value v;
  EXPECT_FALSE(queue.pop(&v));
}

TYPED_TEST(Queues, KeepsTheOrder) {
  const auto owned = std::make_unique<TypeParam>();
  TypeParam& queue = *owned;
  uint64_t pushed = 0;
  uint64_t popped = 0;
  value v;
  for (int round = 0; round < 100; ++round) {
    for (int i = 0; i < round % 60; ++i) ASSERT_TRUE(queue.push(make_value(0, pushed++)));
    while (queue.pop(&v)) {
      ASSERT_TRUE(is_whole(v));
      ASSERT_EQ(v.number, popped++);
    }
    ASSERT_EQ(popped, pushed);
  }
}

// No value is lost or popped twice, and the values of each producer arrive in its order.
TYPED_TEST(Queues, ManyProducersAndConsumers) {
  constexpr uint64_t producers = 4;
  constexpr uint64_t consumers = 4;
  constexpr uint64_t values = 3000;
  const auto owned = std::make_unique<TypeParam>();
  TypeParam& queue = *owned;
  std::atomic<uint64_t> popped{0};
  std::atomic<uint64_t> torn{0};
  std::atomic<uint64_t> disordered{0};
  std::vector<std::atomic<int>> seen(producers * values);
  std::vector<std::thread> threads;
  for (uint64_t p = 0; p < producers; ++p) {
    threads.emplace_back([&, p] {
      base::backoff wait;
      for (uint64_t i = 0; i < values; ++i) {
        while (!queue.push(make_value(p, i))) wait.idle();
        wait.reset();
      }
    });
  }
  for (uint64_t c = 0; c < consumers; ++c) {
    threads.emplace_back([&] {
      std::vector<uint64_t> next(producers, 0);
      base::backoff wait;
      while (popped.load() < producers * values) {
        value v;
        if (!queue.pop(&v)) {
          wait.idle();
          continue;
        }
        wait.reset();
        if (!is_whole(v)) ++torn;
        if (v.number < next[v.producer]) ++disordered;
        next[v.producer] = v.number + 1;
        seen[v.producer * values + v.number].fetch_add(1);
        popped.fetch_add(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(torn, 0u);
  EXPECT_EQ(disordered, 0u);
  for (const std::atomic<int>& count : seen) ASSERT_EQ(count.load(), 1);
}

TEST(ArrayQueue, RefusesWhenFullAndLosesNothing) {
  const auto owned = std::make_unique<array_queue<value>>(5);
  array_queue<value>& queue = *owned;
  ASSERT_EQ(queue.capacity(), 8u);
  for (uint64_t round = 0; round < 3; ++round) {
    for (uint64_t i = 0; i < 8; ++i) ASSERT_TRUE(queue.try_push(make_value(round, i)));
    EXPECT_FALSE(queue.try_push(make_value(round, 99)));
    value v;
    for (uint64_t i = 0; i < 8; ++i) {
      ASSERT_TRUE(queue.try_pop(&v));
      EXPECT_EQ(v.producer, round);
      EXPECT_EQ(v.number, i);
    }
    EXPECT_FALSE(queue.try_pop(&v));
  }
}

// Both kinds of cells, on the processors that have both.
template <class Queue>
class Lcrqs : public testing::Test {};
using LcrqTypes = testing::Types<
#ifdef LCI_DS_HAS_WIDE_ATOMIC
    wide,
#endif
    narrow, spsc_segments, spsc_runs>;
TYPED_TEST_SUITE(Lcrqs, LcrqTypes);

TYPED_TEST(Lcrqs, UsesItsRingsAgain) {
  const auto owned = std::make_unique<TypeParam>();
  auto& queue = owned->queue;
  value v;
  for (int round = 0; round < 10; ++round) {
    for (uint64_t i = 0; i < 100; ++i) queue.push(make_value(0, i));
    EXPECT_EQ(queue.size(), 100u);
    for (uint64_t i = 0; i < 100; ++i) {
      ASSERT_TRUE(queue.try_pop(&v));
      ASSERT_EQ(v.number, i);
    }
    EXPECT_EQ(queue.size(), 0u);
    EXPECT_LE(queue.rings(), 14u);
  }
}

// A value that a thread has pushed is available to it immediately, even if other threads are in the
// middle of an operation.
TYPED_TEST(Lcrqs, APushedValueCanBePopped) {
  constexpr int threads = 8;
  constexpr int rounds = 2000;
  const auto owned = std::make_unique<TypeParam>();
  auto& queue = owned->queue;
  std::atomic<int> missed{0};
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      value v;
      for (int i = 0; i < rounds; ++i) {
        queue.push(make_value(static_cast<uint64_t>(t), static_cast<uint64_t>(i)));
        // Each thread pops as many values as it has pushed: there is one for each pop.
        if (!queue.try_pop(&v) || !is_whole(v)) ++missed;
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(missed, 0);
  EXPECT_EQ(queue.size(), 0u);
}

void use(lcrq<value>* queue, uint64_t rounds) {
  value v;
  for (uint64_t i = 0; i < rounds; ++i) {
    queue->push(make_value(0, i));
    ASSERT_TRUE(queue->try_pop(&v));
    ASSERT_EQ(v.number, i);
  }
}

TEST(Lcrq, BelongsToWhoUsesItAloneUntilAnotherComes) {
  if (!base::has_process_barrier())
    GTEST_SKIP() << "NOTHING WAS TESTED: the kernel has no membarrier";
  const auto queue = std::make_unique<lcrq<value>>();
  EXPECT_FALSE(queue->has_owners());
  use(queue.get(), 100);
  EXPECT_TRUE(queue->has_owners());
  std::thread([&] {
    value v;
    EXPECT_FALSE(queue->try_pop(&v));
  }).join();
  EXPECT_FALSE(queue->has_owners());
  use(queue.get(), 100);
  EXPECT_FALSE(queue->has_owners()) << "eight times as many rounds are needed now";
  use(queue.get(), 2000);
  EXPECT_TRUE(queue->has_owners());
}

// One thread pushes more than an SPSC segment holds, another pops half of it; then a third thread
// comes.
TEST(Lcrq, ValuesInSpscSegmentsArePoppedByAll) {
  if (!base::has_process_barrier())
    GTEST_SKIP() << "NOTHING WAS TESTED: the kernel has no membarrier";
  constexpr uint64_t values = 1000;
  const auto queue = std::make_unique<lcrq<value>>();
  std::atomic<uint64_t> pushed{0};
  std::atomic<uint64_t> popped{0};
  base::backoff wait;
  const auto pop_next = [&] {
    value v;
    while (!queue->try_pop(&v)) wait.idle();
    ASSERT_EQ(v.number, popped);
    ++popped;
  };
  std::thread producer([&] {
    base::backoff patience;
    for (; pushed < values; ++pushed) {
      // In turn, until the two threads own the queue.
      while (pushed < 200 && popped < pushed) patience.idle();
      queue->push(make_value(0, pushed));
    }
  });
  while (popped < values / 2) pop_next();
  producer.join();
  EXPECT_TRUE(queue->has_owners());
  EXPECT_EQ(queue->size(), values / 2);
  std::thread([&] {
    for (int i = 0; i < 100; ++i) pop_next();
  }).join();
  EXPECT_FALSE(queue->has_owners());
  queue->push(make_value(0, values));
  EXPECT_EQ(queue->size(), values / 2 - 99);
  while (popped <= values) pop_next();
  value v;
  EXPECT_FALSE(queue->try_pop(&v));
}

// From when one thread has the queue to itself, several values are pushed together, or none where
// they do not fit.
TEST(Lcrq, SeveralValuesArePushedTogether) {
  using queue_type = lcrq<uint64_t, std_atomics, default_cell, immediate_spsc_policy>;
  const auto owned = std::make_unique<queue_type>(32);
  queue_type& queue = *owned;
  uint64_t popped = 0;
  const std::vector<uint64_t> values = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  if (!base::has_process_barrier())
    GTEST_SKIP() << "NOTHING WAS TESTED: the kernel has no membarrier";
  EXPECT_FALSE(queue.try_push(values.data(), 1)) << "nobody is alone yet";
  int alone = 0;
  for (; alone < 1000 && !queue.try_push(values.data(), 1); ++alone) {
    queue.push(0);
    ASSERT_TRUE(queue.try_pop(&popped));
  }
  ASSERT_LT(alone, 1000);
  ASSERT_TRUE(queue.try_pop(&popped));
  size_t most_together = 0;
  for (size_t i = 0; i < 100; ++i) {
    const size_t count = 1 + i % values.size();
    const bool together = queue.try_push(values.data(), count);
    if (together) most_together = std::max(most_together, count);
    EXPECT_EQ(queue.size(), together ? count : 0);
    for (size_t k = 0; !together && k < count; ++k) queue.push(values[k]);
    for (size_t k = 0; k < count; ++k) {
      ASSERT_TRUE(queue.try_pop(&popped));
      EXPECT_EQ(popped, values[k]);
    }
    EXPECT_FALSE(queue.try_pop(&popped));
  }
  EXPECT_EQ(most_together, 8u) << "the capacity of a segment";
  // Of another thread only one by one.
  std::thread([&] { EXPECT_FALSE(queue.try_push(values.data(), 2)); }).join();
}

}  // namespace
}  // namespace lci::ds
