// Histories of real threads that use the queues and matching, round by round, are linearizable. How
// much the calls overlap depends on the machine; structures_test makes them overlap in every way.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "lci/base/backoff.h"
#include "lci/ds/matching_queue.h"
#include "lci/ds/matching_table.h"
#include "lci/testing/linearizability/history.h"
#include "lci/testing/linearizability/linearizable.h"
#include "lci/testing/linearizability/specifications.h"
#include "lci/testing/scenarios/adapters.h"

namespace lci::ds::explorer {
namespace {

constexpr size_t threads = 3;
constexpr size_t calls_per_round = 5;
constexpr size_t rounds = 1000;

// Runs act(thread, round) concurrently in all threads, then check(round) in one thread, and
// repeats.
template <class Act, class Check>
void run_rounds(const Act& act, const Check& check) {
  std::atomic<size_t> arrived{0};
  std::atomic<size_t> round{0};  // counts two per round: act, then check
  const auto await_all = [&](size_t next) {
    base::backoff wait;
    if (arrived.fetch_add(1) + 1 == threads) {
      arrived = 0;
      round = next;
    }
    while (round.load() < next) wait.idle();
  };
  std::vector<std::thread> all;
  for (size_t t = 0; t < threads; ++t) {
    all.emplace_back([&, t] {
      for (size_t r = 0; r < rounds; ++r) {
        act(t, r);
        await_all(2 * r + 1);
        if (t == 0) check(r);
        await_all(2 * r + 2);
      }
    });
  }
  for (std::thread& thread : all) thread.join();
}

template <class Queue, class Clock>
void expect_queue(size_t capacity) {
  // Each round begins with an empty queue that has been used before.
  auto queue = std::make_unique<Queue>();
  recorder<transfer, Clock> log(threads);
  run_rounds(
      [&](size_t thread, size_t round) {
        for (size_t i = 0; i < calls_per_round; ++i) {
          log.record(thread, [&] {
            if ((i + thread + round) % 2 == 0) {
              const uint64_t value = 100 * (thread + 1) + i;
              return transfer::push(value, queue->push(value));
            }
            uint64_t value = 0;
            return queue->pop(&value) ? transfer::pop(value) : transfer::pop_nothing();
          });
        }
      },
      [&](size_t round) {
        uint64_t value = 0;
        bool empty = false;
        while (!empty) {
          log.record(0, [&] {
            empty = !queue->pop(&value);
            return empty ? transfer::pop_nothing() : transfer::pop(value);
          });
        }
        history<transfer> calls = log.take();
        if (Queue::pop_may_overlook) {
          calls = without_excused(
              calls, [](const transfer& t) { return t.is_refused_pop(); },
              [](const transfer& t) { return t.is_push(); });
        }
        const verdict v = check_linearizable(queue_specification(capacity), calls);
        EXPECT_TRUE(v.linearizable) << "round " << round << ": " << v.explanation;
      });
}

constexpr size_t unbounded_length = queue_specification::unbounded;

TEST(Histories, ArrayQueue) {
  using queue = bounded<array_queue<uint64_t>, 4>;
  expect_queue<queue, counting_clock>(4);
  expect_queue<queue, time_clock>(4);
}

#ifdef LCI_DS_HAS_WIDE_ATOMIC
TEST(Histories, WideLcrq) {
  using queue = unbounded<lcrq<uint64_t, std_atomics, wide_cell>, 2>;
  expect_queue<queue, counting_clock>(unbounded_length);
  expect_queue<queue, time_clock>(unbounded_length);
}
#endif

TEST(Histories, NarrowLcrq) {
  using queue = unbounded<lcrq<uint64_t, std_atomics, narrow_cell>, 2>;
  expect_queue<queue, counting_clock>(unbounded_length);
  expect_queue<queue, time_clock>(unbounded_length);
}

template <class Matching, class Clock>
void expect_matching() {
  constexpr uint64_t keys = 3;
  auto matching = std::make_unique<Matching>();
  recorder<insertion, Clock> log(threads);
  run_rounds(
      [&](size_t thread, size_t round) {
        for (size_t i = 0; i < calls_per_round; ++i) {
          log.record(thread, [&] {
            const uint64_t key = (i + round) % keys;
            const bool is_send = (thread + i + round / 2) % 2 == 0;
            const uint64_t value = 100 * (thread + 1) + i;
            void* matched =
                matching->insert(key, reinterpret_cast<void*>(value),
                                 is_send ? Matching::entry_type::send : Matching::entry_type::recv);
            return insertion{key, is_send, value, reinterpret_cast<uint64_t>(matched)};
          });
        }
      },
      [&](size_t round) {
        const verdict v = check_each_linearizable(matching_specification(), log.take(),
                                                  [](const insertion& i) { return i.key; });
        EXPECT_TRUE(v.linearizable) << "round " << round << ": " << v.explanation;
        matching->remove_if([](void*, auto) { return true; });
      });
}

struct small_table : matching_table {
  small_table() : matching_table(2) {}
};

TEST(Histories, MatchingTable) {
  expect_matching<small_table, counting_clock>();
  expect_matching<small_table, time_clock>();
}

TEST(Histories, MatchingQueue) {
  expect_matching<matching_queue, counting_clock>();
  expect_matching<matching_queue, time_clock>();
}

}  // namespace
}  // namespace lci::ds::explorer
