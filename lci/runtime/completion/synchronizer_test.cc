#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "lci/base/backoff.h"
#include "lci/runtime/completion/impl.h"

namespace lci::rt {
namespace {

// Not on the stack, which the address sanitizer aligns for less than it needs.
std::unique_ptr<synchronizer> make(int threshold) {
  comp_attr_t attributes;
  attributes.sync_threshold = threshold;
  return std::make_unique<synchronizer>(attributes);
}

status_t numbered(tag_t number) {
  status_t status = errorcode_t::done;
  status.tag = number;
  return status;
}

TEST(Synchronizer, KeepsTheOrderOfTheSignals) {
  constexpr int threshold = 3;
  const auto own = make(threshold);
  synchronizer& tested = *own;
  status_t taken[threshold];
  for (int round = 0; round < 1000; ++round) {  // meanwhile the thread becomes the lock's owner
    for (tag_t number = 0; number < threshold; ++number) {
      EXPECT_FALSE(tested.ready());
      tested.signal(numbered(number));
    }
    ASSERT_TRUE(tested.ready());
    tested.take(taken);
    for (tag_t number = 0; number < threshold; ++number) EXPECT_EQ(number, taken[number].tag);
  }
}

TEST(Synchronizer, RefusesOneSignalTooMany) {
  const auto own = make(2);
  synchronizer& tested = *own;
  for (int round = 0; round < 100; ++round) {
    tested.signal(numbered(1));
    tested.signal(numbered(2));
    EXPECT_THROW(tested.signal(numbered(3)), std::logic_error);
    ASSERT_TRUE(tested.ready());
    status_t taken[2];
    tested.take(taken);
    EXPECT_EQ(1u, taken[0].tag);
    EXPECT_EQ(2u, taken[1].tag);
  }
}

// One thread signals alone until the lock is its own, then all do: each its part of a round.
TEST(Synchronizer, LosesNoSignalOfSeveralThreads) {
  constexpr int threads = 3;
  constexpr int part = 10000;
  constexpr int rounds = 20;
  const auto own = make(threads * part);
  synchronizer& tested = *own;
  std::vector<status_t> taken(threads * part);
  for (int i = 0; i < 2 * threads * part; ++i) {
    tested.signal(numbered(0));
    if (tested.ready()) tested.take(taken.data());
  }
  std::atomic<int> round{0};
  std::vector<std::thread> others;
  for (int thread = 0; thread < threads; ++thread) {
    others.emplace_back([&, thread] {
      for (int mine = 1; mine <= rounds; ++mine) {
        base::backoff backoff;
        while (round.load(std::memory_order_relaxed) < mine) backoff.idle();
        for (int i = 0; i < part; ++i) {
          tested.signal(numbered(static_cast<tag_t>((mine * part + i) * threads + thread)));
        }
      }
    });
  }
  for (int now = 1; now <= rounds; ++now) {
    round.store(now, std::memory_order_relaxed);
    base::backoff backoff;
    while (!tested.ready()) backoff.idle();
    tested.take(taken.data());
    tag_t next[threads];  // of each thread, in its order
    for (tag_t& number : next) number = static_cast<tag_t>(now * part);
    for (const status_t& status : taken) {
      ASSERT_EQ(next[status.tag % threads]++, status.tag / threads) << "round " << now;
    }
  }
  for (std::thread& other : others) other.join();
}

}  // namespace
}  // namespace lci::rt
