#include "lci/ds/owned_ring.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "lci/base/backoff.h"
#include "lci/base/process_barrier.h"
#include "lci/base/thread_number.h"

namespace lci::ds {
namespace {

using ring = owned_ring<uint64_t>;
using result = ring::result;
using sealed_result = ring::sealed_result;

constexpr auto wanted = [] { return true; };

void in_another_thread(const std::function<void()>& f) { std::thread(f).join(); }

// A ring of the calling thread, on the heap, as in the tests of the queues.
std::unique_ptr<ring> my_ring(size_t capacity) {
  const uint32_t me = base::thread_number();
  return std::make_unique<ring>(capacity, me, me);
}

void end(ring* r) {
  r->disown();
  if (base::has_process_barrier()) base::process_barrier();
  r->seal();
}

TEST(OwnedRing, HoldsItsCapacityAndKeepsTheOrder) {
  const auto r = my_ring(4);
  uint64_t value = 0;
  EXPECT_EQ(r->pop(&value), result::refused);
  for (uint64_t round = 0; round < 10; ++round) {
    for (uint64_t i = 0; i < 4; ++i) ASSERT_EQ(r->push(10 * round + i), result::ok);
    EXPECT_EQ(r->push(99), result::refused);
    EXPECT_EQ(r->size(), 4u);
    for (uint64_t i = 0; i < 4; ++i) {
      ASSERT_EQ(r->pop(&value), result::ok);
      EXPECT_EQ(value, 10 * round + i);
    }
    EXPECT_EQ(r->pop(&value), result::refused);
  }
}

TEST(OwnedRing, IsOfItsOwnersOnly) {
  const auto r = my_ring(4);
  ASSERT_EQ(r->push(1), result::ok);
  in_another_thread([&] {
    uint64_t value = 0;
    EXPECT_EQ(r->push(2), result::not_owner);
    EXPECT_EQ(r->pop(&value), result::not_owner);
  });
  EXPECT_EQ(r->size(), 1u);
  EXPECT_FALSE(r->is_sealed());
}

TEST(OwnedRing, IsAllThreadsWhenItIsSealed) {
  const auto r = my_ring(4);
  uint64_t value = 0;
  for (const uint64_t pushed : {1, 2, 3, 4}) ASSERT_EQ(r->push(pushed), result::ok);
  ASSERT_EQ(r->pop(&value), result::ok);
  end(r.get());
  EXPECT_TRUE(r->is_sealed());
  EXPECT_EQ(r->size(), 3u);
  EXPECT_EQ(r->push(5), result::not_owner);
  EXPECT_EQ(r->pop(&value), result::not_owner);
  EXPECT_EQ(r->pop_sealed(&value, [] { return false; }), sealed_result::moved);
  ASSERT_EQ(r->pop_sealed(&value, wanted), sealed_result::ok);
  EXPECT_EQ(value, 2u);
  in_another_thread([&] {
    uint64_t theirs = 0;
    ASSERT_EQ(r->pop_sealed(&theirs, wanted), sealed_result::ok);
    EXPECT_EQ(theirs, 3u);
  });
  ASSERT_EQ(r->pop_sealed(&value, wanted), sealed_result::ok);
  EXPECT_EQ(value, 4u);
  EXPECT_EQ(r->pop_sealed(&value, wanted), sealed_result::drained);
  EXPECT_EQ(r->size(), 0u);
}

TEST(OwnedRing, TakesSeveralValuesOrNone) {
  const auto r = my_ring(4);
  const uint64_t values[] = {1, 2, 3, 4, 5};
  uint64_t value = 0;
  EXPECT_EQ(r->push(values, 5), result::refused);
  for (int round = 0; round < 5; ++round) {  // from each slot on
    ASSERT_EQ(r->push(values, 3), result::ok);
    EXPECT_EQ(r->push(values + 3, 2), result::refused);
    EXPECT_EQ(r->size(), 3u);
    ASSERT_EQ(r->push(values + 3, 1), result::ok);
    for (uint64_t expected = 1; expected <= 4; ++expected) {
      ASSERT_EQ(r->pop(&value), result::ok);
      EXPECT_EQ(value, expected);
    }
    ASSERT_EQ(r->push(values, 1), result::ok);
    ASSERT_EQ(r->pop(&value), result::ok);
  }
  EXPECT_EQ(r->pop(&value), result::refused);
}

// One thread pushes, so many values at a time, one pops, and a third ends the ring: what counts for
// the pusher is popped once.
void expect_nothing_lost(size_t at_a_time) {
  std::atomic<uint32_t> popper{UINT32_MAX};
  std::atomic<ring*> shared{nullptr};
  std::atomic<uint64_t> moved{0};
  std::atomic<bool> ended{false};
  std::vector<uint64_t> popped;
  uint64_t pushed = 0;
  std::thread taker([&] {
    popper = base::thread_number();
    base::backoff wait;
    while (shared.load() == nullptr) wait.idle();
    ring& r = *shared.load();
    for (;;) {
      uint64_t value = 0;
      const result got = r.pop(&value);
      if (got == result::not_owner) return;
      if (got == result::unsure) {
        while (!ended) wait.idle();
        if (r.was_popped()) popped.push_back(value);
        return;
      }
      if (got == result::ok) popped.push_back(value);
      if (got == result::refused) wait.idle();
      moved = popped.size();
    }
  });
  base::backoff wait;
  while (popper == UINT32_MAX) wait.idle();
  const auto r = std::make_unique<ring>(8, base::thread_number(), popper);
  std::thread ender([&] {
    while (moved < 1000) std::this_thread::yield();
    end(r.get());
    ended = true;
  });
  shared = r.get();
  for (;;) {
    std::vector<uint64_t> values(at_a_time);
    std::iota(values.begin(), values.end(), pushed);
    const result put = r->push(values.data(), at_a_time);
    if (put == result::not_owner) break;
    if (put == result::unsure) {
      while (!ended) wait.idle();
      if (r->was_pushed()) pushed += at_a_time;
      break;
    }
    if (put == result::ok) pushed += at_a_time;
    if (put == result::refused) wait.idle();
  }
  taker.join();
  ender.join();
  uint64_t value = 0;
  while (r->pop_sealed(&value, wanted) == sealed_result::ok) popped.push_back(value);
  ASSERT_EQ(popped.size(), pushed);
  for (uint64_t i = 0; i < pushed; ++i) ASSERT_EQ(popped[i], i);
}

TEST(OwnedRing, NothingIsLostWhenItEndsInTheMiddle) {
  if (!base::has_process_barrier())
    GTEST_SKIP() << "NOTHING WAS TESTED: the kernel has no membarrier";
  for (const size_t at_a_time : {1, 3}) expect_nothing_lost(at_a_time);
}

}  // namespace
}  // namespace lci::ds
