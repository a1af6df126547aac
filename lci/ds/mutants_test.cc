// Errors planted in copies of the structures (mutants.bzl), one at a time. The explorer
// has to find each of them, and to find it again by its schedule. This tests the tests: it shows
// that a pass of structures_test is significant.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lci/ds/array_pop_early.h"
#include "lci/ds/array_pop_unordered.h"
#include "lci/ds/array_publish_unordered.h"
#include "lci/ds/array_push_over.h"
#include "lci/ds/array_take_unordered.h"
#include "lci/ds/biased_lock.h"
#include "lci/ds/bypass_does_not_wait.h"
#include "lci/ds/bypass_lock_not_seen.h"
#include "lci/ds/bypass_lock_not_seen_in_between.h"
#include "lci/ds/bypass_no_light_barrier.h"
#include "lci/ds/bypass_no_process_barrier.h"
#include "lci/ds/gate_end_unordered.h"
#include "lci/ds/gate_look_unordered.h"
#include "lci/ds/gate_not_announced.h"
#include "lci/ds/gate_writer_unseen.h"
#include "lci/ds/hazard_end_unordered.h"
#include "lci/ds/hazard_mark_unordered.h"
#include "lci/ds/hazard_mark_unseen.h"
#include "lci/ds/hazard_no_light_barrier.h"
#include "lci/ds/hazard_no_process_barrier.h"
#include "lci/ds/hazard_not_announced.h"
#include "lci/ds/lcrq_no_process_barrier.h"
#include "lci/ds/lcrq_push_unseen.h"
#include "lci/ds/lcrq_segment_dropped_early.h"
#include "lci/ds/lock_bypass.h"
#include "lci/ds/lock_not_exclusive.h"
#include "lci/ds/lock_unordered.h"
#include "lci/ds/mpmc_get_unordered.h"
#include "lci/ds/mpmc_grow_unordered.h"
#include "lci/ds/objects_taken_twice.h"
#include "lci/ds/owned_late_head.h"
#include "lci/ds/owned_no_light_barrier.h"
#include "lci/ds/owned_no_second_look.h"
#include "lci/ds/owned_not_disowned.h"
#include "lci/ds/owned_pop_not_counted.h"
#include "lci/ds/owned_pop_unordered.h"
#include "lci/ds/owned_popper_not_disowned.h"
#include "lci/ds/owned_push_counted.h"
#include "lci/ds/owned_push_unordered.h"
#include "lci/ds/owned_push_unseen.h"
#include "lci/ds/owned_seal_unordered.h"
#include "lci/ds/owner_enter_unordered.h"
#include "lci/ds/owner_freed_unordered.h"
#include "lci/ds/owner_leave_unordered.h"
#include "lci/ds/owner_no_light_barrier.h"
#include "lci/ds/owner_no_process_barrier.h"
#include "lci/ds/owner_no_second_look.h"
#include "lci/ds/owner_not_revoked.h"
#include "lci/ds/owner_not_withdrawn.h"
#include "lci/ds/owner_withdraw_unordered.h"
#include "lci/ds/pool_get_twice.h"
#include "lci/ds/pool_put_unordered.h"
#include "lci/ds/ring_hint_beyond.h"
#include "lci/ds/ring_slot_kept.h"
#include "lci/ds/thread_arrival_unordered.h"
#include "lci/ds/thread_full_round_broken.h"
#include "lci/ds/thread_open_unordered.h"
#include "lci/ds/ticket_aba.h"
#include "lci/ds/ticket_again.h"
#include "lci/ds/ticket_unordered.h"
#include "lci/ds/walk_does_not_leave.h"
#include "lci/testing/explorer/explore.h"
#include "lci/testing/explorer/scheduled_atomics.h"
#include "lci/testing/scenarios/adapters.h"
#include "lci/testing/scenarios/closing_scenario.h"
#include "lci/testing/scenarios/lock_scenarios.h"
#include "lci/testing/scenarios/pool_scenarios.h"
#include "lci/testing/scenarios/queue_scenarios.h"

namespace lci::ds::explorer {
namespace {

using testing::HasSubstr;
using maker = std::function<std::unique_ptr<scenario>()>;

void expect_found(const maker& make, const std::string& what) {
  constexpr size_t most_runs = 100000;
  random_choices random(1);
  const exploration found = explore(make, random, most_runs);
  ASSERT_NE(found.failure, "") << "not found in " << found.runs << " runs";
  EXPECT_THAT(found.failure, HasSubstr(what));
  replay_choices again(found.schedule);
  EXPECT_EQ(explore(make, again, 1).failure, found.failure);
}

template <class Queue>
maker queue(const std::vector<std::string>& scripts) {
  return [=] { return std::make_unique<queue_scenario<Queue>>(scripts, 2); };
}

// Each cell has been used, so that a mutant that reads a cell too early reads the same each time.
template <class Queue>
struct array : bounded<Queue, 2> {
  array() {
    uint64_t value = 0;
    for (int i = 0; i < 2; ++i) {
      this->push(value);
      this->pop(&value);
    }
  }
};

TEST(Mutants, ArrayQueue) {
  expect_found(
      queue<array<array_publish_unordered::array_queue<uint64_t, scheduled_atomics>>>({"+", "-"}),
      "data race");
  expect_found(
      queue<array<array_take_unordered::array_queue<uint64_t, scheduled_atomics>>>({"+", "-"}),
      "data race");
  expect_found(
      queue<array<array_pop_unordered::array_queue<uint64_t, scheduled_atomics>>>({"+++", "--"}),
      "data race");
  expect_found(
      queue<array<array_push_over::array_queue<uint64_t, scheduled_atomics>>>({"+++", "--"}), "");
  expect_found(queue<array<array_pop_early::array_queue<uint64_t, scheduled_atomics>>>({"+", "-"}),
               "");
}

template <class Ring>
using alone = ring_alone<Ring, scheduled_atomics, 2, 3>;

TEST(Mutants, ExchangeRing) {
  expect_found(
      queue<alone<ring_slot_kept::exchange_ring<wide_cell, scheduled_atomics>>>({"++", "--"}), "");
  expect_found(
      queue<alone<ring_hint_beyond::exchange_ring<wide_cell, scheduled_atomics>>>({"++-", "+--"}),
      "not linearizable");
}

// Maker of an lcrq whose SPSC segments consist of this ring.
template <template <class, class> class Ring>
maker spsc_segments(const std::vector<std::string>& scripts) {
  return [=] {
    using mutant =
        unbounded<lcrq<uint64_t, scheduled_atomics, wide_cell, spsc_immediately<Ring>>, 2>;
    return std::make_unique<queue_scenario<mutant>>(scripts, queue_specification::unbounded);
  };
}

TEST(Mutants, OwnedRing) {
  const std::vector<std::string> pushed = {"-++", "+---"};
  const std::vector<std::string> popped = {"-+++--", "--"};
  expect_found(spsc_segments<owned_no_light_barrier::owned_ring>(pushed), "not linearizable");
  expect_found(spsc_segments<owned_no_second_look::owned_ring>(pushed), "not linearizable");
  expect_found(spsc_segments<owned_not_disowned::owned_ring>(pushed), "");
  expect_found(spsc_segments<owned_popper_not_disowned::owned_ring>(popped), "");
  expect_found(spsc_segments<owned_push_counted::owned_ring>({"-+++", "--", "-"}),
               "not linearizable");
  expect_found(spsc_segments<owned_pop_not_counted::owned_ring>(popped), "not linearizable");
  // One thread pushes and another pops, in turn.
  expect_found(spsc_segments<owned_push_unordered::owned_ring>({"+++++", "-----"}), "data race");
  expect_found(spsc_segments<owned_pop_unordered::owned_ring>({"++++", "---"}), "data race");
  expect_found(spsc_segments<owned_late_head::owned_ring>({"++++", "---", "-"}), "");
  expect_found(spsc_segments<owned_seal_unordered::owned_ring>({"-+++", "--"}), "data race");
}

TEST(Mutants, Lcrq) {
  const auto mutant = [](auto* queue, const std::vector<std::string>& scripts) -> maker {
    using type = std::remove_pointer_t<decltype(queue)>;
    return [=] {
      return std::make_unique<queue_scenario<unbounded<type, 2>>>(scripts,
                                                                  queue_specification::unbounded);
    };
  };
  lcrq_no_process_barrier::lcrq<uint64_t, scheduled_atomics, wide_cell, spsc_immediately<>>*
      no_barrier = nullptr;
  lcrq_segment_dropped_early::lcrq<uint64_t, scheduled_atomics, wide_cell, spsc_immediately<>>*
      early = nullptr;
  expect_found(mutant(no_barrier, {"-++", "+---"}), "not linearizable");
  expect_found(mutant(early, {"++++++", "------"}), "not linearizable");
}

// The last value is popped, and the queue destroyed, while the push of that value is in progress.
TEST(Mutants, EndOfAnLcrq) {
  using in_segment =
      lcrq<uint64_t, scheduled_atomics, wide_cell, spsc_immediately<owned_push_unseen::owned_ring>>;
  using in_ring = lcrq_push_unseen::lcrq<uint64_t, scheduled_atomics, wide_cell>;
  expect_found([] { return std::make_unique<ending_scenario<unbounded<in_segment, 2>>>(1, 4); },
               "use after end");
  expect_found([] { return std::make_unique<ending_scenario<unbounded<in_ring, 2>>>(1, 2); },
               "use after end");
}

TEST(Mutants, MpmcArray) {
  using get_unordered = mpmc_get_unordered::mpmc_array<const uint64_t*, scheduled_atomics>;
  using grow_unordered = mpmc_grow_unordered::mpmc_array<const uint64_t*, scheduled_atomics>;
  expect_found([] { return std::make_unique<array_scenario<get_unordered>>(); }, "data race");
  expect_found([] { return std::make_unique<array_scenario<grow_unordered>>(); }, "data race");
}

TEST(Mutants, Spinlock) {
  using not_exclusive = lock_not_exclusive::basic_spinlock<scheduled_atomics>;
  using unordered = lock_unordered::basic_spinlock<scheduled_atomics>;
  expect_found([] { return std::make_unique<lock_scenario<not_exclusive>>(2); }, "data race");
  expect_found([] { return std::make_unique<lock_scenario<unordered>>(2); }, "data race");
}

TEST(Mutants, ThreadBarrier) {
  using arrival_unordered = thread_arrival_unordered::basic_thread_barrier<scheduled_atomics>;
  using open_unordered = thread_open_unordered::basic_thread_barrier<scheduled_atomics>;
  using full_broken = thread_full_round_broken::basic_thread_barrier<scheduled_atomics>;
  expect_found([] { return std::make_unique<barrier_scenario<arrival_unordered>>(2, false); },
               "data race");
  expect_found([] { return std::make_unique<barrier_scenario<open_unordered>>(2, false); },
               "data race");
  expect_found([] { return std::make_unique<barrier_scenario<full_broken>>(2, true); },
               "some threads passed, and some not");
}

template <class Gate, class Writer>
void expect_found_at_gate() {
  expect_found([] { return std::make_unique<write_gate_scenario<Gate, Writer>>(1); }, "data race");
}

TEST(Mutants, WriteGate) {
  expect_found_at_gate<gate_end_unordered::basic_write_gate<scheduled_atomics>,
                       gate_end_unordered::basic_gated_writer<scheduled_atomics>>();
  expect_found_at_gate<gate_look_unordered::basic_write_gate<scheduled_atomics>,
                       gate_look_unordered::basic_gated_writer<scheduled_atomics>>();
  expect_found_at_gate<gate_not_announced::basic_write_gate<scheduled_atomics>,
                       gate_not_announced::basic_gated_writer<scheduled_atomics>>();
  expect_found_at_gate<gate_writer_unseen::basic_write_gate<scheduled_atomics>,
                       gate_writer_unseen::basic_gated_writer<scheduled_atomics>>();
}

template <class Mark, class Hazard>
void expect_found_at_hazard(size_t users, int closes) {
  const maker make = [=] { return std::make_unique<hazard_scenario<Mark, Hazard>>(users, closes); };
  expect_found(make, "data race");
}

TEST(Mutants, Hazard) {
  expect_found_at_hazard<hazard_end_unordered::basic_hazard_mark<scheduled_atomics>,
                         hazard_end_unordered::basic_hazard<scheduled_atomics>>(1, 2);
  expect_found_at_hazard<hazard_mark_unordered::basic_hazard_mark<scheduled_atomics>,
                         hazard_mark_unordered::basic_hazard<scheduled_atomics>>(1, 2);
  expect_found_at_hazard<hazard_mark_unseen::basic_hazard_mark<scheduled_atomics>,
                         hazard_mark_unseen::basic_hazard<scheduled_atomics>>(2, 2);
  expect_found_at_hazard<hazard_no_light_barrier::basic_hazard_mark<scheduled_atomics>,
                         hazard_no_light_barrier::basic_hazard<scheduled_atomics>>(1, 2);
  expect_found_at_hazard<hazard_no_process_barrier::basic_hazard_mark<scheduled_atomics>,
                         hazard_no_process_barrier::basic_hazard<scheduled_atomics>>(1, 2);
  expect_found_at_hazard<hazard_not_announced::basic_hazard_mark<scheduled_atomics>,
                         hazard_not_announced::basic_hazard<scheduled_atomics>>(1, 2);
}

template <template <class> class Owner>
maker biased(const std::vector<size_t>& sections) {
  using lock = basic_biased_lock<scheduled_atomics, 1, uint32_t{1} << 30, Owner>;
  return [=] { return std::make_unique<biased_lock_scenario<lock>>(sections); };
}

TEST(Mutants, Ownership) {
  expect_found(biased<owner_no_process_barrier::ownership>({2, 1}), "data race");
  expect_found(biased<owner_no_light_barrier::ownership>({2, 1}), "data race");
  expect_found(biased<owner_no_second_look::ownership>({2, 1}), "data race");
  expect_found(biased<owner_not_revoked::ownership>({2, 1}), "data race");
  expect_found(biased<owner_leave_unordered::ownership>({2, 1}), "data race");
  expect_found(biased<owner_enter_unordered::ownership>({2, 1}), "data race");
  expect_found(biased<owner_withdraw_unordered::ownership>({2, 2}), "data race");
  expect_found(biased<owner_not_withdrawn::ownership>({2, 1}), "the lock is held");
}

template <class Bypass>
maker bypassed(size_t threads, size_t sections, bool together = false) {
  return [=] { return std::make_unique<bypass_scenario<Bypass>>(threads, sections, together); };
}

TEST(Mutants, LockBypass) {
  using no_light_barrier = bypass_no_light_barrier::basic_lock_bypass<scheduled_atomics, 1, 1>;
  using no_process_barrier = bypass_no_process_barrier::basic_lock_bypass<scheduled_atomics, 1, 1>;
  using does_not_wait = bypass_does_not_wait::basic_lock_bypass<scheduled_atomics, 1, 1>;
  using freed_unordered =
      basic_lock_bypass<scheduled_atomics, 1, 1, 1, owner_freed_unordered::ownership>;
  using lock_not_seen = bypass_lock_not_seen::basic_lock_bypass<scheduled_atomics, 1, 1>;
  using lock_not_seen_in_between =
      bypass_lock_not_seen_in_between::basic_lock_bypass<scheduled_atomics, 1, 1>;
  using never_leaves = walk_does_not_leave::basic_lock_bypass<scheduled_atomics, 1, 1>;
  expect_found(bypassed<lock_not_seen>(2, 3), "data race");
  expect_found(bypassed<never_leaves>(2, 3, true), "");
  expect_found(bypassed<lock_not_seen_in_between>(2, 3, true), "data race");
  expect_found(bypassed<no_light_barrier>(2, 2), "data race");
  expect_found(bypassed<no_process_barrier>(2, 2), "data race");
  expect_found(bypassed<does_not_wait>(2, 2), "data race");
  expect_found(bypassed<freed_unordered>(3, 2), "data race");
}

TEST(Mutants, ObjectPool) {
  using taken_twice = objects_taken_twice::object_pool<pooled_element, scheduled_atomics, 1>;
  expect_found([] { return std::make_unique<object_scenario<taken_twice>>(); }, "");
}

TEST(Mutants, StealingPool) {
  using get_twice =
      pool_get_twice::stealing_pool<pooled_element, pooled_element_owner, scheduled_atomics>;
  using put_unordered =
      pool_put_unordered::stealing_pool<pooled_element, pooled_element_owner, scheduled_atomics>;
  expect_found([] { return std::make_unique<pool_scenario<get_twice>>(2, 3); }, "");
  expect_found([] { return std::make_unique<pool_scenario<put_unordered>>(2, 3); }, "data race");
}

TEST(Mutants, TicketTable) {
  using unordered = ticket_unordered::ticket_table<uint64_t, 31, scheduled_atomics>;
  using again = ticket_again::ticket_table<uint64_t, 31, scheduled_atomics>;
  using aba = ticket_aba::ticket_table<uint64_t, 31, scheduled_atomics>;
  expect_found([] { return std::make_unique<ticket_scenario<unordered>>(); }, "data race");
  expect_found([] { return std::make_unique<ticket_scenario<again>>(); }, "issued twice");
  expect_found([] { return std::make_unique<ticket_reuse_scenario<aba>>(); }, "");
}

}  // namespace
}  // namespace lci::ds::explorer
