// Collective operations of ranks on several hosts (LCI_HOSTS=0,0,1,1): what differs from operations
// by messages alone.
#include "lci/runtime/instance/hierarchy.h"

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lci/api/lci.hpp"
#include "lci/observe/counting.h"
#include "lci/runtime/instance/group.h"
#include "lci/runtime/instance/runtime.h"
#include "lci/testing/ranks/collectives.h"
#include "lci/testing/ranks/ranks.h"

namespace lci {
namespace {

using rt::hierarchy;

std::vector<hierarchy::report> on_hosts(const std::vector<int>& hosts) {
  std::vector<hierarchy::report> reports;
  for (const int each : hosts) {
    reports.push_back({each, static_cast<uint32_t>(coll::arena::join_state::readable)});
  }
  return reports;
}

TEST(Hierarchy, CountsHostsAndRanks) {
  const hierarchy made(nullptr, on_hosts({7, 3, 7, 7, 3, 9}), 4);
  EXPECT_EQ(made.hosts(), 3);
  EXPECT_EQ(made.own_host(), 1);
  EXPECT_EQ(made.index(), 1);
  EXPECT_EQ(made.places_on(0), (std::vector<int>{0, 2, 3}));
  EXPECT_EQ(made.places_on(1), (std::vector<int>{1, 4}));
  EXPECT_EQ(made.host_of(5), 2);
  EXPECT_EQ(made.index_of(3), 2);
  EXPECT_EQ(made.least_ranks(), 1);
  EXPECT_FALSE(made.is_in_order());
  EXPECT_TRUE(hierarchy(nullptr, on_hosts({7, 7, 3, 9, 9}), 0).is_in_order());
}

TEST(Hierarchy, NeedsSeveralHostsAndAHostWithSeveralRanks) {
  EXPECT_FALSE(hierarchy::is_possible(on_hosts({0, 0, 0})));
  EXPECT_FALSE(hierarchy::is_possible(on_hosts({0, 1, 2})));
  EXPECT_TRUE(hierarchy::is_possible(on_hosts({0, 1, 0})));
  std::vector<hierarchy::report> one_cannot = on_hosts({0, 1, 0});
  one_cannot[1].state = static_cast<uint32_t>(coll::arena::join_state::failed);
  EXPECT_FALSE(hierarchy::is_possible(one_cannot));
  one_cannot[1].state = static_cast<uint32_t>(coll::arena::join_state::mapped);
  EXPECT_TRUE(hierarchy::is_possible(one_cannot));
  EXPECT_EQ(hierarchy(nullptr, one_cannot, 0).joined(), coll::arena::join_state::mapped);
}

TEST(Hierarchy, RanksOfSeveralHostsHaveIt) {
  run_job(4, [](runtime_t runtime) {
    const hierarchy* const hosts = runtime.p_impl->hierarchy();
    ASSERT_NE(hosts, nullptr);
    EXPECT_EQ(runtime.p_impl->shared_memory(), nullptr);
    EXPECT_EQ(hosts->hosts(), 2);
    EXPECT_EQ(hosts->own_host(), rank_of(runtime) / 2);
    EXPECT_EQ(hosts->index(), rank_of(runtime) % 2);
    EXPECT_EQ(hosts->memory().arena().size(), 2);
    // A group of three ranks has it, too; one of a host, and one of a rank each, do not.
    const auto split = [runtime](int color) {
      return split_group_x(color, rank_of(runtime)).runtime(runtime)();
    };
    group_t three = split(rank_of(runtime) < 3 ? 0 : -1);
    group_t host = split(rank_of(runtime) / 2);
    group_t apart = split(rank_of(runtime) % 2);
    if (!three.is_empty()) {
      ASSERT_NE(three.p_impl->hierarchy(), nullptr);
      EXPECT_EQ(three.p_impl->hierarchy()->ranks_on(1), 1);
      free_group_x{&three}.runtime(runtime)();
    }
    EXPECT_EQ(host.p_impl->hierarchy(), nullptr);
    EXPECT_EQ(apart.p_impl->hierarchy(), nullptr);
    free_group_x{&host}.runtime(runtime)();
    free_group_x{&apart}.runtime(runtime)();
  });
}

TEST(Hierarchy, AnAttributeSwitchesItOff) {
  runtime_attr_t attr;
  attr.coll_hosts_max_size = 0;
  run_job(
      4,
      [](runtime_t runtime) {
        EXPECT_EQ(runtime.p_impl->hierarchy(), nullptr);
        group_t all = split_group_x(0, rank_of(runtime)).runtime(runtime)();
        EXPECT_EQ(all.p_impl->hierarchy(), nullptr);
        free_group_x{&all}.runtime(runtime)();
      },
      attr);
}

// Each leader has a part of the items, also where the parts or the hosts differ in size.
TEST(Hierarchy, SeveralLeadersDivideAnAllreduce) {
  for (const int leaders : {2, 3, 100}) {
    for (const int ranks : {3, 4, 7, 8}) {
      runtime_attr_t attr;
      attr.coll_host_leaders = leaders;
      run_job(
          ranks,
          [](runtime_t runtime) {
            const int n = size_of(runtime);
            for (const size_t count : {size_t{8191}, size_t{8192}, size_t{20001}, size_t{100003}}) {
              const auto own = items_of(rank_of(runtime), count);
              std::vector<affine> out(count);
              allreduce_x(own.data(), out.data(), count, sizeof(affine), compose)
                  .runtime(runtime)();
              ASSERT_EQ(out, all_reduced(n, count)) << count << " items of " << n << " ranks";
              out = own;
              allreduce_x(out.data(), out.data(), count, sizeof(affine), compose)
                  .runtime(runtime)();
              ASSERT_EQ(out, all_reduced(n, count)) << "in place";
            }
          },
          attr);
    }
  }
}

uint64_t messages_of(runtime_t runtime) {
  const device_counters_t counted = get_counters_x().runtime(runtime)().devices.at(0);
  return counted.sent_tagged.messages + counted.sent_large.messages;
}

// Only leaders send, to the leaders of the other hosts. Larger blocks go straight to each rank.
TEST(Hierarchy, SmallBlocksOfAnAlltoallTravelInOneMessageBetweenHosts) {
  observe::counts_traffic().store(true);
  run_job(5, [](runtime_t runtime) {
    const auto rank = static_cast<size_t>(rank_of(runtime));
    const auto n = static_cast<size_t>(size_of(runtime));
    // (The hosts of five ranks are 0, 0, 1, 1, 0.)
    const bool leads = rank == 0 || rank == 2;
    for (const size_t size : {size_t{1}, size_t{7}, size_t{200}, size_t{5000}}) {
      std::vector<unsigned char> sent;
      std::vector<unsigned char> expected;
      std::vector<unsigned char> received(n * size);
      for (size_t r = 0; r < n; ++r) {
        sent.insert(sent.end(), size, static_cast<unsigned char>(10 * rank + r));
        expected.insert(expected.end(), size, static_cast<unsigned char>(10 * r + rank));
      }
      const uint64_t before = messages_of(runtime);
      alltoall_x(sent.data(), received.data(), size).runtime(runtime)();
      ASSERT_EQ(received, expected) << "rank " << rank << ", blocks of " << size;
      EXPECT_EQ(messages_of(runtime) - before, size < 5000 ? (leads ? 1U : 0U) : n - 1)
          << "rank " << rank << ", blocks of " << size;
    }
  });
  observe::counts_traffic().store(false);
}

TEST(Hierarchy, BlockingCallsMeetCallsWithAComp) {
  mix_blocking_calls_and_comps(4, 100, reduce_sum<uint64_t>);
}
TEST(Hierarchy, ManyOperationsAreUnderWayAtATime) { keep_many_under_way(4, reduce_sum<uint64_t>); }
TEST(Hierarchy, AHandlerMayStartTheNextOperation) { start_the_next_in_a_handler(4); }

// The ranks of a host compare what they call, and the error counts the calls of the program.
TEST(Hierarchy, ADifferentOperationIsAnErrorOnTheHost) {
  run_apart(4, [](runtime_t runtime) {
    barrier_x().runtime(runtime)();
    wait_drained_x().runtime(runtime)();
    if (rank_of(runtime) >= 2) return;
    uint64_t value = 1;
    uint64_t sum = 0;
    const std::string error = error_of([&] {
      if (rank_of(runtime) == 1) {
        allreduce_x(&value, &sum, 1, sizeof(value), reduce_sum<uint64_t>).runtime(runtime)();
      } else {
        barrier_x().runtime(runtime)();
      }
    });
    EXPECT_NE(error.find("as number 2,"), std::string::npos) << error;
    EXPECT_NE(error.find("rank 0 calls barrier"), std::string::npos) << error;
    EXPECT_NE(error.find("rank 1 calls allreduce of 8 bytes in items of 8 bytes"),
              std::string::npos)
        << error;
  });
}

// By messages, which wait for each other: the memory of the host says why.
TEST(Hierarchy, ADifferentOperationByMessagesIsAnErrorOnTheHost) {
  run_apart(4, [](runtime_t runtime) {
    if (rank_of(runtime) >= 2) return wait_drained_x().runtime(runtime)();
    uint64_t value = 1;
    const std::string error = error_of([&] {
      broadcast_x(&value, sizeof(value), 1 - rank_of(runtime))
          .algorithm(broadcast_algorithm_t::tree)
          .runtime(runtime)();
    });
    EXPECT_NE(error.find("rank 0 calls broadcast of 8 bytes from rank 1"), std::string::npos)
        << error;
    EXPECT_NE(error.find("rank 1 calls broadcast of 8 bytes from rank 0"), std::string::npos)
        << error;
  });
}

// All ranks but rank 1 learn of the loss by themselves. Rank 1, whose operation does not exchange
// messages, learns of it in the memory of its host from its leader, which breaks off the operation.
void lose(int lost) {
  for (const bool blocking : {true, false}) {
    std::atomic<int> ended{0};
    run_apart(4, [&](runtime_t runtime) {
      const int rank = rank_of(runtime);
      barrier_x().runtime(runtime)();
      if (rank == lost) {
        while (ended < 3) progress_x().runtime(runtime)();
        return;
      }
      comp_t queue = alloc_cq_x().runtime(runtime)();
      uint64_t sum = 0;
      const uint64_t own = 1;
      if (!blocking) {
        allreduce_x(&own, &sum, 1, sizeof(own), reduce_sum<uint64_t>)
            .comp(queue)
            .runtime(runtime)();
      }
      if (rank != 1) runtime.p_impl->engines().fail_peer(lost);
      if (!blocking) {
        const status_t status = pop_from(runtime, queue);
        EXPECT_EQ(status.error.errorcode, errorcode_t::fatal);
      }
      // Twice, as all later ones.
      for (int i = 0; i < 2; ++i) {
        try {
          barrier_x().runtime(runtime)();
          ADD_FAILURE() << "rank " << rank << " has left the barrier";
        } catch (const peer_failure_error& failure) {
          EXPECT_EQ(failure.failed_rank(), lost) << failure.what();
        }
      }
      free_comp_x{&queue}.runtime(runtime)();
      ++ended;
    });
  }
}
TEST(Hierarchy, ALostLeaderEndsOperationsOnAllRanks) { lose(2); }
TEST(Hierarchy, ALostFollowerEndsOperationsOnAllRanks) { lose(3); }

// As above, of a persistent collective whose leader has met its host when it learns of the loss:
// the steps of the host that have not begun are broken off, although the object is kept.
TEST(Hierarchy, ALostRankEndsStartsOnAllRanks) {
  for (const int lost : {2, 3}) {
    std::atomic<int> ended{0};
    run_apart(4, [&](runtime_t runtime) {
      const int rank = rank_of(runtime);
      comp_t queue = alloc_cq_x().runtime(runtime)();
      uint64_t sum = 0;
      const uint64_t own = 1;
      persistent_coll_t recorded =
          alloc_persistent_coll(allreduce_x(&own, &sum, 1, sizeof(own), reduce_sum<uint64_t>)
                                    .comp(queue)
                                    .runtime(runtime));
      const auto end_of_start = [&] {
        const status_t status = pop_from(runtime, queue);
        return status.error.errorcode;
      };
      for (int i = 0; i < 2; ++i) {
        persistent_coll_start(recorded);
        EXPECT_EQ(end_of_start(), errorcode_t::done);
        EXPECT_EQ(sum, 4U);
      }
      if (rank == lost) {
        while (ended < 3) progress_x().runtime(runtime)();
      } else {
        persistent_coll_start(recorded);
        if (rank == 0) {
          while (runtime.p_impl->hierarchy()->memory().has_pending())
            progress_x().runtime(runtime)();
        }
        if (rank != 1) runtime.p_impl->engines().fail_peer(lost);
        EXPECT_EQ(end_of_start(), errorcode_t::fatal) << rank;
        ++ended;
        while (ended < 3) progress_x().runtime(runtime)();
      }
      free_persistent_coll(&recorded);
      free_comp_x{&queue}.runtime(runtime)();
    });
  }
}

}  // namespace
}  // namespace lci
