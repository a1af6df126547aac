#include "lci/testing/linearizability/linearizable.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lci/testing/linearizability/history.h"
#include "lci/testing/linearizability/specifications.h"

namespace lci::ds::explorer {
namespace {

using testing::HasSubstr;

template <class Operation>
call<Operation> at(uint64_t invoked, uint64_t returned, size_t thread, Operation operation) {
  return {operation, invoked, returned, thread};
}

bool is_queue(const history<transfer>& calls, size_t capacity = queue_specification::unbounded) {
  return check_linearizable(queue_specification(capacity), calls).linearizable;
}

TEST(Queue, AcceptsNothing) { EXPECT_TRUE(is_queue({})); }

TEST(Queue, AcceptsOneAfterTheOther) {
  EXPECT_TRUE(is_queue({
      at(0, 1, 0, transfer::pop_nothing()),
      at(2, 3, 0, transfer::push(1)),
      at(4, 5, 0, transfer::push(2)),
      at(6, 7, 1, transfer::pop(1)),
      at(8, 9, 1, transfer::pop(2)),
      at(10, 11, 1, transfer::pop_nothing()),
  }));
}

TEST(Queue, AcceptsAnyOrderOfCallsThatOverlap) {
  EXPECT_TRUE(is_queue({
      at(0, 5, 0, transfer::push(1)),
      at(1, 6, 1, transfer::push(2)),
      at(2, 7, 2, transfer::pop(2)),
      at(3, 8, 3, transfer::pop_nothing()),
      at(9, 10, 3, transfer::pop(1)),
  }));
}

TEST(Queue, CallsWithEqualTimesOverlap) {
  EXPECT_TRUE(is_queue({at(0, 1, 0, transfer::pop(1)), at(1, 2, 1, transfer::push(1))}));
}

TEST(Queue, RejectsALostValue) {
  const history<transfer> calls = {
      at(0, 1, 0, transfer::push(1)),
      at(2, 3, 0, transfer::push(2)),
      at(4, 5, 1, transfer::pop(2)),
      at(6, 7, 1, transfer::pop_nothing()),
  };
  const verdict v = check_linearizable(queue_specification(), calls);
  EXPECT_FALSE(v.linearizable);
  EXPECT_THAT(v.explanation, HasSubstr("[4, 5] thread 1: pop: 2"));
  // Only the two pushes can be ordered.
  EXPECT_THAT(v.explanation, HasSubstr("of the rest:\n  [0, 1] thread 0: push 1\n"
                                       "  [2, 3] thread 0: push 2\n"));
}

TEST(Queue, RejectsAValueThatComesTwice) {
  EXPECT_FALSE(is_queue({
      at(0, 1, 0, transfer::push(1)),
      at(2, 5, 1, transfer::pop(1)),
      at(3, 6, 2, transfer::pop(1)),
  }));
}

TEST(Queue, RejectsAValueFromNowhere) {
  EXPECT_FALSE(is_queue({at(0, 5, 0, transfer::push(1)), at(1, 6, 1, transfer::pop(2))}));
}

TEST(Queue, RejectsTheWrongOrder) {
  EXPECT_FALSE(is_queue({
      at(0, 1, 0, transfer::push(1)),
      at(2, 3, 0, transfer::push(2)),
      at(4, 7, 1, transfer::pop(2)),
      at(8, 9, 2, transfer::pop(1)),
  }));
}

TEST(Queue, RejectsAPopBeforeItsPush) {
  EXPECT_FALSE(is_queue({at(0, 1, 0, transfer::pop(1)), at(2, 3, 1, transfer::push(1))}));
}

TEST(Queue, RejectsNothingWhereThereAlwaysWasSomething) {
  EXPECT_FALSE(is_queue({
      at(0, 1, 0, transfer::push(1)),
      at(2, 9, 1, transfer::pop_nothing()),
      at(3, 4, 0, transfer::push(2)),
      at(5, 8, 2, transfer::pop(1)),
  }));
}

TEST(BoundedQueue, IsFullAtItsCapacity) {
  EXPECT_TRUE(is_queue(
      {
          at(0, 1, 0, transfer::push(1)),
          at(2, 3, 0, transfer::push(2)),
          at(4, 5, 0, transfer::push(3, false)),
          at(6, 7, 0, transfer::pop(1)),
          at(8, 9, 0, transfer::push(4)),
      },
      2));
  EXPECT_FALSE(
      is_queue({at(0, 1, 0, transfer::push(1)), at(2, 3, 0, transfer::push(2, false))}, 2));
  EXPECT_FALSE(is_queue({at(0, 1, 0, transfer::push(1)), at(2, 3, 0, transfer::push(2))}, 1));
}

TEST(Pool, GivesInAnyOrderButOnce) {
  const history<transfer> both = {
      at(0, 1, 0, transfer::push(1)),       at(2, 3, 0, transfer::push(2)),
      at(4, 5, 1, transfer::pop_nothing()), at(6, 7, 1, transfer::pop(2)),
      at(8, 9, 1, transfer::pop(1)),
  };
  EXPECT_TRUE(check_linearizable(pool_specification(), both).linearizable);
  history<transfer> twice = both;
  twice.push_back(at(10, 11, 0, transfer::pop(1)));
  EXPECT_FALSE(check_linearizable(pool_specification(), twice).linearizable);
}

bool is_matching(const history<insertion>& calls) {
  return check_each_linearizable(matching_specification(), calls,
                                 [](const insertion& i) { return i.key; })
      .linearizable;
}

TEST(Matching, PairsTheOldestOfTheOtherType) {
  EXPECT_TRUE(is_matching({
      at(0, 1, 0, insertion{7, true, 1, 0}),
      at(2, 3, 0, insertion{7, true, 2, 0}),
      at(4, 5, 0, insertion{8, false, 3, 0}),
      at(6, 7, 1, insertion{7, false, 4, 1}),
      at(8, 9, 1, insertion{7, false, 5, 2}),
      at(10, 11, 1, insertion{7, false, 6, 0}),
  }));
  // While the two calls overlap, either entry may be the older one.
  EXPECT_TRUE(is_matching({
      at(0, 3, 0, insertion{7, true, 1, 0}),
      at(1, 4, 1, insertion{7, true, 2, 0}),
      at(5, 6, 2, insertion{7, false, 4, 2}),
  }));
}

TEST(Matching, RejectsWrongPairs) {
  // Not the oldest.
  EXPECT_FALSE(is_matching({
      at(0, 1, 0, insertion{7, true, 1, 0}),
      at(2, 3, 0, insertion{7, true, 2, 0}),
      at(4, 5, 1, insertion{7, false, 4, 2}),
  }));
  // Another key.
  EXPECT_FALSE(
      is_matching({at(0, 1, 0, insertion{7, true, 1, 0}), at(2, 3, 1, insertion{8, false, 4, 1})}));
  // The same type.
  EXPECT_FALSE(
      is_matching({at(0, 1, 0, insertion{7, true, 1, 0}), at(2, 3, 1, insertion{7, true, 4, 1})}));
  // Two entries paired with the same one.
  EXPECT_FALSE(is_matching({
      at(0, 1, 0, insertion{7, true, 1, 0}),
      at(2, 5, 1, insertion{7, false, 4, 1}),
      at(3, 6, 2, insertion{7, false, 5, 1}),
  }));
  // Both wait, although each should have seen the other.
  EXPECT_FALSE(is_matching({
      at(0, 3, 0, insertion{7, true, 1, 0}),
      at(1, 4, 1, insertion{7, false, 2, 0}),
  }));
}

TEST(Register, ReadsTheLastWrite) {
  const auto place = [](const access& a) { return a.place; };
  const history<access> good = {
      at(0, 1, 0, access{3, true, 5}),  at(2, 5, 0, access{3, true, 6}),
      at(3, 4, 1, access{3, false, 5}), at(6, 7, 1, access{3, false, 6}),
      at(8, 9, 1, access{4, false, 0}),
  };
  EXPECT_TRUE(check_each_linearizable(register_specification(), good, place).linearizable);
  history<access> stale = good;
  stale[3].operation.value = 5;
  const verdict v = check_each_linearizable(register_specification(), stale, place);
  EXPECT_FALSE(v.linearizable);
  EXPECT_THAT(v.explanation, HasSubstr("key 3: "));
}

TEST(Tickets, AreTakenOnce) {
  history<ticket_call> calls = {
      at(0, 1, 0, ticket_call{true, 9, 1}),
      at(2, 5, 0, ticket_call{false, 9, 1}),
      at(3, 6, 1, ticket_call{false, 9, 0}),
  };
  EXPECT_TRUE(check_linearizable(ticket_specification(), calls).linearizable);
  calls[2].operation.value = 1;
  EXPECT_FALSE(check_linearizable(ticket_specification(), calls).linearizable);
  calls[2].operation = {true, 9, 2};
  calls[2].invoked = 2;  // the ticket is issued again, perhaps before it was taken
  EXPECT_TRUE(check_linearizable(ticket_specification(), calls).linearizable);
  calls[1].invoked = 7;
  calls[1].returned = 8;
  EXPECT_FALSE(check_linearizable(ticket_specification(), calls).linearizable);
}

TEST(WithoutExcused, DropsOnlyRefusalsWithAnExcuse) {
  const history<transfer> calls = {
      at(0, 1, 0, transfer::push(1)),
      at(2, 3, 1, transfer::pop_nothing()),
      at(4, 7, 0, transfer::push(2)),
      at(5, 6, 1, transfer::pop_nothing()),
  };
  const history<transfer> rest = without_excused(
      calls, [](const transfer& t) { return t.is_refused_pop(); },
      [](const transfer& t) { return t.is_push(); });
  ASSERT_EQ(rest.size(), 3u);
  EXPECT_EQ(rest[1].invoked, 2u);
  EXPECT_FALSE(is_queue(rest));
}

// Tries all orders, one by one.
bool is_queue_by_all_orders(const history<transfer>& calls) {
  std::vector<size_t> order(calls.size());
  std::iota(order.begin(), order.end(), 0);
  do {
    queue_specification state;
    bool right = true;
    for (size_t i = 0; i < order.size() && right; ++i) {
      for (size_t j = i + 1; j < order.size(); ++j) {
        if (calls[order[j]].returned < calls[order[i]].invoked) right = false;
      }
      right = right && state.apply(calls[order[i]].operation);
    }
    if (right) return true;
  } while (std::next_permutation(order.begin(), order.end()));
  return false;
}

TEST(Queue, AgreesWithAllOrdersOfRandomHistories) {
  std::mt19937_64 random(1);
  int accepted = 0;
  constexpr int histories = 3000;
  for (int round = 0; round < histories; ++round) {
    history<transfer> calls;
    std::vector<uint64_t> times(12);
    std::iota(times.begin(), times.end(), 0);
    std::shuffle(times.begin(), times.end(), random);
    uint64_t pushed = 0;
    for (size_t i = 0; i < 6; ++i) {
      transfer t = transfer::pop_nothing();
      if (random() % 2 == 0) {
        t = transfer::push(++pushed);
      } else if (random() % 3 != 0) {
        t = transfer::pop(random() % 3 + 1);
      }
      calls.push_back(at(std::min(times[2 * i], times[2 * i + 1]),
                         std::max(times[2 * i], times[2 * i + 1]), i, t));
    }
    const bool expected = is_queue_by_all_orders(calls);
    accepted += expected ? 1 : 0;
    ASSERT_EQ(is_queue(calls), expected) << "history " << round;
  }
  EXPECT_GT(accepted, histories / 20);
  EXPECT_LT(accepted, histories * 19 / 20);
}

// There are 13! orders of the pushes alone.
TEST(Queue, ManyOverlappingCallsAreDecidedQuickly) {
  history<transfer> calls;
  for (size_t i = 0; i < 13; ++i) calls.push_back(at(0, 10, i, transfer::push(1)));
  for (size_t i = 0; i < 13; ++i) calls.push_back(at(11, 20, i, transfer::pop(1)));
  calls.push_back(at(21, 22, 0, transfer::pop(1)));
  const verdict v = check_linearizable(queue_specification(), calls);
  EXPECT_FALSE(v.linearizable);
  EXPECT_LT(v.steps, 500000u);
}

template <class Clock>
class Recorder : public testing::Test {};
using Clocks = testing::Types<counting_clock, time_clock>;
TYPED_TEST_SUITE(Recorder, Clocks);

TYPED_TEST(Recorder, KeepsTheOrderInTime) {
  recorder<transfer, TypeParam> log(3);
  // The threads take turns, so that the order is known.
  std::atomic<int> turn{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 4; ++round) {
        while (turn.load() != round * 3 + t) std::this_thread::yield();
        log.record(static_cast<size_t>(t),
                   [&] { return transfer::push(static_cast<uint64_t>(turn.load())); });
        ++turn;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const history<transfer> calls = log.take();
  ASSERT_EQ(calls.size(), 12u);
  for (size_t i = 0; i < calls.size(); ++i) {
    EXPECT_EQ(calls[i].operation.value, i);
    EXPECT_EQ(calls[i].thread, i % 3);
    EXPECT_LE(calls[i].invoked, calls[i].returned);
  }
  EXPECT_TRUE(log.take().empty());
}

}  // namespace
}  // namespace lci::ds::explorer
