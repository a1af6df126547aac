// Runs the structures of lci/ds under every schedule within some bounds, and under many random ones
// beyond. A failure prints its schedule; to repeat it, use replay_choices.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lci/ds/biased_lock.h"
#include "lci/ds/hazard.h"
#include "lci/ds/lock_bypass.h"
#include "lci/ds/matching_queue.h"
#include "lci/ds/matching_table.h"
#include "lci/ds/mpmc_array.h"
#include "lci/ds/object_pool.h"
#include "lci/ds/spinlock.h"
#include "lci/ds/stealing_pool.h"
#include "lci/ds/thread_barrier.h"
#include "lci/ds/ticket_table.h"
#include "lci/ds/write_gate.h"
#include "lci/testing/explorer/explore.h"
#include "lci/testing/explorer/scheduled_atomics.h"
#include "lci/testing/scenarios/adapters.h"
#include "lci/testing/scenarios/closing_scenario.h"
#include "lci/testing/scenarios/lock_scenarios.h"
#include "lci/testing/scenarios/pool_scenarios.h"
#include "lci/testing/scenarios/queue_scenarios.h"

namespace lci::ds::explorer {
namespace {

using maker = std::function<std::unique_ptr<scenario>()>;

// Runs of each scenario for each way of choosing. LCI_TEST_EXPLORE_RUNS=100000 takes a night.
size_t most_runs() {
  const char* asked = std::getenv("LCI_TEST_EXPLORE_RUNS");
  return asked == nullptr ? 3000 : std::strtoul(asked, nullptr, 10);
}

void expect_right(const maker& make) {
  all_choices all(2, 1);
  const exploration bounded = explore(make, all, most_runs());
  EXPECT_EQ(bounded.failure, "") << "schedule: " << bounded.schedule;
  random_choices random(1);
  const exploration by_chance = explore(make, random, most_runs());
  EXPECT_EQ(by_chance.failure, "") << "schedule: " << by_chance.schedule;
  EXPECT_GT(bounded.runs, 10u);
  EXPECT_EQ(by_chance.runs, most_runs());
}

template <class Queue>
void expect_right_queue(size_t capacity = queue_specification::unbounded) {
  for (const std::vector<std::string>& scripts : std::vector<std::vector<std::string>>{
           {"++", "--"}, {"+-", "+-"}, {"++-", "+--"}, {"+-", "+-", "+-"}, {"++++", "-", "--"}}) {
    SCOPED_TRACE(scripts[0] + " " + scripts[1]);
    expect_right([&] { return std::make_unique<queue_scenario<Queue>>(scripts, capacity); });
  }
}

TEST(Structures, ArrayQueue) {
  expect_right_queue<bounded<array_queue<uint64_t, scheduled_atomics>, 2>>(2);
}

TEST(Structures, WideExchangeRing) {
  using ring = exchange_ring<wide_cell, scheduled_atomics>;
  expect_right_queue<ring_alone<ring, scheduled_atomics, 2, 3>>(2);
}

TEST(Structures, NarrowExchangeRing) {
  using ring = exchange_ring<narrow_cell, scheduled_atomics>;
  expect_right_queue<ring_alone<ring, scheduled_atomics, 2, 3>>(2);
}

TEST(Structures, WideLcrq) {
  expect_right_queue<unbounded<lcrq<uint64_t, scheduled_atomics, wide_cell>, 2>>();
}

TEST(Structures, NarrowLcrq) {
  expect_right_queue<unbounded<lcrq<uint64_t, scheduled_atomics, narrow_cell>, 2>>();
}

// SPSC segments begin as soon as one thread has pushed and one has popped. In each script the first
// thread does both, so that it owns the queue when other threads come. In some scripts it returns
// to a queue that is then shared, and in some there are several SPSC segments, or those of two
// threads.
template <class Queue>
void expect_right_spsc() {
  for (const std::vector<std::string>& scripts :
       std::vector<std::vector<std::string>>{{"-++-", "+"},
                                             {"-++-", "-"},
                                             {"-++--+-", "+-"},
                                             {"-++++---", "--"},
                                             {"-+++-+", "+-+"},
                                             {"-++-", "+", "-"},
                                             {"-+-+-+", "-+-+-+"},
                                             {"-++", "+---"},
                                             {"+++++", "-----"},
                                             {"++++", "---", "+-"}}) {
    SCOPED_TRACE(testing::PrintToString(scripts));
    expect_right([&] {
      return std::make_unique<queue_scenario<Queue>>(scripts, queue_specification::unbounded);
    });
  }
}

template <template <class> class Cell>
using spsc_lcrq = lcrq<uint64_t, scheduled_atomics, Cell, spsc_immediately<>>;

TEST(Structures, WideLcrqWithSpscSegments) {
  expect_right_spsc<unbounded<spsc_lcrq<wide_cell>, 2>>();
}

TEST(Structures, NarrowLcrqWithSpscSegments) {
  expect_right_spsc<unbounded<spsc_lcrq<narrow_cell>, 2>>();
}

TEST(Structures, LcrqWithSpscSegmentsThatIsPushedInRuns) {
  expect_right_spsc<unbounded_in_runs<spsc_lcrq<wide_cell>, 2>>();
}

template <class Queue>
void expect_right_end() {
  for (const auto& [pushers, values] : {std::pair<size_t, size_t>{1, 4}, {2, 2}}) {
    SCOPED_TRACE(testing::Message() << pushers << " threads push " << values << " values each");
    expect_right([pushers = pushers, values = values] {
      return std::make_unique<ending_scenario<Queue>>(pushers, values);
    });
  }
}

TEST(Structures, AnArrayQueueMayEndWithItsLastValue) {
  expect_right_end<bounded<array_queue<uint64_t, scheduled_atomics>, 4>>();
}

TEST(Structures, AnLcrqMayEndWithItsLastValue) {
  expect_right_end<unbounded<lcrq<uint64_t, scheduled_atomics, wide_cell>, 2>>();
  expect_right_end<unbounded<lcrq<uint64_t, scheduled_atomics, narrow_cell>, 2>>();
  expect_right_end<
      unbounded<lcrq<uint64_t, scheduled_atomics, wide_cell, spsc_immediately<>>, 2>>();
}

struct one_bucket : basic_matching_table<scheduled_atomics> {
  one_bucket() : basic_matching_table(1) {}
};

struct linked_bucket : basic_matching_table<scheduled_atomics, own_links> {
  linked_bucket() : basic_matching_table(1) {}
};

// By the short ways where possible. A thread that uses it becomes the owner of the bypass at once.
class bucket_in_short
    : public short_ways<basic_matching_table<scheduled_atomics, own_links,
                                             basic_lock_bypass<scheduled_atomics, 1, 1>>> {
 public:
  bucket_in_short() : short_ways(1) {}
};

template <class Matching>
void expect_right_matching() {
  for (const std::vector<std::string>& scripts : std::vector<std::vector<std::string>>{
           {"s", "r"}, {"ss", "rr"}, {"sr", "rs", "s"}, {"ssss", "rrrr"}}) {
    SCOPED_TRACE(scripts[0] + " " + scripts[1]);
    expect_right([&] { return std::make_unique<matching_scenario<Matching>>(scripts); });
  }
}

TEST(Structures, MatchingTable) { expect_right_matching<one_bucket>(); }

TEST(Structures, LinkedMatchingTable) { expect_right_matching<linked_bucket>(); }

TEST(Structures, MatchingTableInShort) { expect_right_matching<bucket_in_short>(); }

TEST(Structures, LockBypass) {
  using immediate = basic_lock_bypass<scheduled_atomics, 1, 1, 1>;
  using at_first = basic_lock_bypass<scheduled_atomics, 1, 1>;
  for (const size_t sections : {2, 3}) {
    expect_right([=] { return std::make_unique<bypass_scenario<immediate>>(2, sections); });
    expect_right([=] { return std::make_unique<bypass_scenario<at_first>>(2, sections); });
  }
  expect_right([] { return std::make_unique<bypass_scenario<immediate>>(3, 2); });
  for (const size_t sections : {2, 3}) {
    expect_right([=] { return std::make_unique<bypass_scenario<immediate>>(2, sections, true); });
  }
}

TEST(Structures, MatchingQueue) {
  expect_right_matching<basic_matching_queue<scheduled_atomics>>();
}

TEST(Structures, Spinlock) {
  for (const size_t threads : {2, 3}) {
    expect_right([&] {
      return std::make_unique<lock_scenario<basic_spinlock<scheduled_atomics>>>(threads);
    });
  }
}

TEST(Structures, ThreadBarrier) {
  using barrier = basic_thread_barrier<scheduled_atomics>;
  for (const size_t threads : {2, 3}) {
    expect_right([&] { return std::make_unique<barrier_scenario<barrier>>(threads, false); });
    expect_right([&] { return std::make_unique<barrier_scenario<barrier>>(threads, true); });
  }
}

TEST(Structures, WriteGate) {
  using gate = basic_write_gate<scheduled_atomics>;
  using writer = basic_gated_writer<scheduled_atomics>;
  for (const size_t writers : {1, 2}) {
    expect_right([&] { return std::make_unique<write_gate_scenario<gate, writer>>(writers); });
  }
}

struct without_process_barrier : scheduled_atomics {
  static bool has_process_barrier() { return false; }
};

template <class Atomics>
void expect_right_hazard() {
  using of_hazard = hazard_scenario<basic_hazard_mark<Atomics>, basic_hazard<Atomics>>;
  for (const size_t users : {1, 2}) {
    for (const int closes : {1, 2}) {
      expect_right([&] { return std::make_unique<of_hazard>(users, closes); });
    }
  }
}

TEST(Structures, Hazard) {
  expect_right_hazard<scheduled_atomics>();
  expect_right_hazard<without_process_barrier>();
}

template <class Atomics>
using ownership_of_four = basic_ownership<Atomics, 4>;

// The holder of the lock becomes its owner at once, each time or only the first time, or after four
// sections in a row.
TEST(Structures, BiasedLock) {
  using immediate = basic_biased_lock<scheduled_atomics, 1, 1, ownership_of_four>;
  using at_first = basic_biased_lock<scheduled_atomics, 1>;
  using later = basic_biased_lock<scheduled_atomics, 4>;
  for (const std::vector<size_t>& sections : std::vector<std::vector<size_t>>{
           {1, 1}, {3, 1}, {2, 2}, {6, 6}, {2, 1, 1}, {2, 2, 2}, {1, 1, 1, 1}}) {
    SCOPED_TRACE(testing::PrintToString(sections));
    expect_right([&] { return std::make_unique<biased_lock_scenario<immediate>>(sections); });
    expect_right([&] { return std::make_unique<biased_lock_scenario<at_first>>(sections); });
    // There are at most four owners: the last of four threads cannot become one.
    expect_right([&] { return std::make_unique<biased_lock_scenario<immediate>>(sections, true); });
  }
  for (const std::vector<size_t>& sections :
       std::vector<std::vector<size_t>>{{5, 1}, {8, 2}, {6, 6}, {8, 1, 1}}) {
    SCOPED_TRACE(testing::PrintToString(sections));
    expect_right([&] { return std::make_unique<biased_lock_scenario<later>>(sections); });
  }
}

TEST(Structures, MpmcArray) {
  expect_right([] {
    return std::make_unique<array_scenario<mpmc_array<const uint64_t*, scheduled_atomics>>>();
  });
}

TEST(Structures, StealingPool) {
  using pool = stealing_pool<pooled_element, pooled_element_owner, scheduled_atomics>;
  for (const size_t threads : {2, 3}) {
    for (const size_t elements : {1, 3, 40}) {
      SCOPED_TRACE(elements);
      expect_right([&] { return std::make_unique<pool_scenario<pool>>(threads, elements); });
    }
  }
}

TEST(Structures, ObjectPool) {
  expect_right([] {
    return std::make_unique<object_scenario<object_pool<pooled_element, scheduled_atomics>>>();
  });
  expect_right([] {
    return std::make_unique<object_scenario<object_pool<pooled_element, scheduled_atomics, 1>>>();
  });
  expect_right([] {
    return std::make_unique<object_scenario<object_pool<pooled_element, scheduled_atomics, 2>>>();
  });
}

TEST(Structures, TicketTable) {
  expect_right([] {
    return std::make_unique<ticket_scenario<ticket_table<uint64_t, 31, scheduled_atomics>>>();
  });
  expect_right([] {
    return std::make_unique<ticket_reuse_scenario<ticket_table<uint64_t, 31, scheduled_atomics>>>();
  });
}

}  // namespace
}  // namespace lci::ds::explorer
