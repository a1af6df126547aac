// Failures that end operations of groups, and calls that groups refuse.
#include <atomic>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lci/api/lci.hpp"
#include "lci/runtime/instance/group.h"
#include "lci/runtime/instance/runtime.h"
#include "lci/testing/ranks/ranks.h"

namespace lci {
namespace {

group_t split(runtime_t runtime, int color, int key) {
  return split_group_x(color, key).runtime(runtime)();
}

TEST(GroupFailures, MistakesAreNamed) {
  run_job(2, [](runtime_t runtime) {
    const int me = rank_of(runtime);
    const auto alloc = [runtime](std::vector<int> list) {
      return error_of(
          [&] { static_cast<void>(alloc_group_x(list.data(), list.size()).runtime(runtime)()); });
    };
    EXPECT_NE(alloc({me, 2}).find("ranks[1] is 2, not 0 to 1"), std::string::npos);
    EXPECT_NE(alloc({me, me}).find("twice"), std::string::npos);
    EXPECT_NE(alloc({1 - me}).find("is not in its own list"), std::string::npos);
    EXPECT_THROW(static_cast<void>(alloc_group_x(nullptr, 1).runtime(runtime)()),
                 std::invalid_argument);

    group_t group = split(runtime, 0, me);
    uint64_t value = 0;
    EXPECT_THROW(broadcast_x(&value, 8, 2).group(group).runtime(runtime)(), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(get_rank_of_group(group, 2)), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(get_rank_me(group_t())), std::invalid_argument);
    matching_engine_t engine = alloc_matching_engine_x().runtime(runtime)();
    EXPECT_THROW(barrier_x().group(group).matching_engine(engine).runtime(runtime)(),
                 std::invalid_argument);
    free_matching_engine_x{&engine}.runtime(runtime)();
    const group_t copy = group;
    EXPECT_NE(runtime.p_impl->left_over().find("1 group"), std::string::npos);
    free_group_x{&group}.runtime(runtime)();
    EXPECT_EQ(runtime.p_impl->left_over(), "");
    EXPECT_THROW(barrier_x().group(copy).runtime(runtime)(), std::invalid_argument);
    EXPECT_THROW(free_group_x{&group}.runtime(runtime)(), std::invalid_argument);
  });
}

TEST(GroupFailures, RanksThatPassDifferentListsAreAnError) {
  run_job(3, [](runtime_t runtime) {
    // Rank 2 is to be with rank 1, which knows nothing of it.
    const std::vector<int> list =
        rank_of(runtime) == 2 ? std::vector<int>{1, 2} : std::vector<int>{0, 1};
    group_t group;
    const std::string error =
        error_of([&] { group = alloc_group_x(list.data(), list.size()).runtime(runtime)(); });
    if (rank_of(runtime) == 2) {
      EXPECT_NE(error.find("rank 1 is in the list of this rank, and passes another list"),
                std::string::npos)
          << error;
      return;
    }
    EXPECT_EQ(error, "");
    barrier_x().group(group).runtime(runtime)();
    free_group_x{&group}.runtime(runtime)();
  });
}

TEST(GroupFailures, AGroupInUseIsNotFreed) {
  run_job(2, [](runtime_t runtime) {
    group_t group = split(runtime, 0, rank_of(runtime));
    comp_t sync = alloc_sync_x().runtime(runtime)();
    if (rank_of(runtime) == 0) {
      barrier_x().group(group).comp(sync).runtime(runtime)();
      EXPECT_THROW(free_group_x{&group}.runtime(runtime)(), std::logic_error);
      EXPECT_FALSE(group.is_empty());
    }
    barrier_x().runtime(runtime)();
    if (rank_of(runtime) == 1) barrier_x().group(group).comp(sync).runtime(runtime)();
    sync_wait_x(sync, nullptr).runtime(runtime)();
    free_group_x{&group}.runtime(runtime)();
    free_comp_x{&sync}.runtime(runtime)();
  });
}

TEST(GroupFailures, AnOperationInAHandlerIsRefused) {
  static thread_local runtime_t own;
  static thread_local group_t group;
  static thread_local int refused;
  run_job(2, [](runtime_t runtime) {
    own = runtime;
    refused = 0;
    group = split(runtime, 0, rank_of(runtime));
    comp_t handler = alloc_handler_x([](status_t) {
                       for (const auto& call : std::vector<std::function<void()>>{
                                [] { static_cast<void>(split(own, 0, 0)); },
                                [] { free_group_x{&group}.runtime(own)(); }}) {
                         try {
                           call();
                         } catch (const std::logic_error&) {
                           ++refused;
                         }
                       }
                     }).runtime(runtime)();
    const rcomp_t rcomp = register_rcomp_x(handler).runtime(runtime)();
    barrier_x().runtime(runtime)();
    static_cast<void>(accepted(
        post_am_x(1 - rank_of(runtime), nullptr, 0, COMP_NULL_RETRY, rcomp).runtime(runtime)));
    while (refused < 2) progress_x().runtime(runtime)();
    free_group_x{&group}.runtime(runtime)();
    free_comp_x{&handler}.runtime(runtime)();
  });
}

// In shared memory; the error names ranks of the runtime.
TEST(GroupFailures, DifferentOperationsAreAnError) {
  run_apart(4, [](runtime_t runtime) {
    const int rank = rank_of(runtime);
    const group_t group = split(runtime, rank % 2, rank);
    // By messages, the ranks wait, and the hang report names them.
    if (!group.get_attr_shares_memory()) return wait_drained_x().runtime(runtime)();
    if (rank % 2 == 0) {
      barrier_x().group(group).runtime(runtime)();
      return;
    }
    const std::string error = error_of([&] {
      char byte = 0;
      if (rank == 1) {
        barrier_x().group(group).runtime(runtime)();
      } else {
        gather_x(&byte, &byte, 1, 0).group(group).runtime(runtime)();
        // It has left its byte without waiting.
        barrier_x().group(group).runtime(runtime)();
      }
    });
    EXPECT_NE(error.find("rank 1 calls barrier"), std::string::npos) << error;
    EXPECT_NE(error.find("rank 3 calls gather of 1 bytes to rank 0"), std::string::npos) << error;
  });
}

// The sizes are compared where a block arrives.
TEST(GroupFailures, ABlockOfAnotherSizeIsAnError) {
  run_apart(2, [](runtime_t runtime) {
    const int rank = rank_of(runtime);
    const group_t group = split(runtime, 0, rank);
    const std::vector<char> sent(100);
    std::vector<char> received(100);
    // Rank 1 expects 7 bytes of rank 0, which sends 5.
    const std::vector<size_t> out{5, 5};
    const std::vector<size_t> in{rank == 0 ? size_t{5} : size_t{7}, 5};
    const std::string error = error_of([&] {
      alltoallv_x(sent.data(), out.data(), received.data(), in.data())
          .group(group)
          .runtime(runtime)();
    });
    wait_drained_x().runtime(runtime)();
    EXPECT_EQ(error.empty(), rank == 0) << error;
    // (By messages, which only find out that a size differs, where the ranks cannot read each
    // other.)
    rt::shared_memory* const shared = group.p_impl->shared_memory();
    if (rank == 1 && shared != nullptr &&
        shared->arena().joined() == coll::arena::join_state::readable) {
      EXPECT_NE(error.find("rank 0 sends 5 bytes to rank 1, which expects 7"), std::string::npos)
          << error;
    }
  });
}

// Also where another one, which may have left for its sake, comes before it in the group.
TEST(GroupFailures, TheRankThatFailedFirstIsNamed) {
  std::atomic<bool> is_over{false};  // for rank 1
  run_apart(4, [&is_over](runtime_t runtime) {
    const int rank = rank_of(runtime);
    group_t others = split(runtime, rank == 0, rank);  // 1 2 3, 0
    barrier_x().runtime(runtime)();
    while (rank != 1 && !is_over) progress_x().runtime(runtime)();
    if (rank != 1) return;
    runtime.p_impl->engines().fail_peer(3);
    runtime.p_impl->engines().fail_peer(2);
    EXPECT_EQ(others.p_impl->first_failed(), 3);
    EXPECT_THROW(free_group_x{&others}.runtime(runtime)(), peer_failure_error);
    is_over = true;
  });
}

// Only the groups of the lost rank end.
TEST(GroupFailures, ALostRankEndsTheOperationsOfItsGroups) {
  std::atomic<int> losers{0};
  run_apart(4, [&losers](runtime_t runtime) {
    const int rank = rank_of(runtime);
    const group_t low = split(runtime, rank / 2, rank);      // 0 1, 2 3
    const group_t others = split(runtime, rank == 0, rank);  // 1 2 3, 0
    barrier_x().runtime(runtime)();
    if (rank == 3) return;
    comp_t queue = alloc_cq_x().runtime(runtime)();
    if (rank != 0) barrier_x().group(others).comp(queue).runtime(runtime)();
    const auto result = [runtime, queue] {
      const status_t status = pop_from(runtime, queue);
      return status.error.errorcode;
    };
    // It is under way while rank 0 loses the rank, which is in another group.
    if (rank == 0) barrier_x().group(low).comp(queue).runtime(runtime)();
    runtime.p_impl->engines().fail_peer(3);
    // A rank that leaves before would be another one's first loss.
    ++losers;
    while (losers < 3) progress_x().runtime(runtime)();
    if (rank == 1) barrier_x().group(low).runtime(runtime)();
    if (rank == 0) {
      EXPECT_EQ(result(), errorcode_t::done);
    }
    if (rank != 0) {
      EXPECT_EQ(result(), errorcode_t::fatal);
      try {
        barrier_x().group(others).runtime(runtime)();
        ADD_FAILURE() << "no error";
      } catch (const peer_failure_error& error) {
        EXPECT_EQ(error.failed_rank(), 3);
      }
      group_t freed = others;
      EXPECT_THROW(free_group_x{&freed}.runtime(runtime)(), peer_failure_error);
      EXPECT_TRUE(freed.is_empty());
    }
    if (rank < 2) {
      for (int round = 0; round < 20; ++round) {
        uint64_t sum = 0;
        const uint64_t own = 1;
        allreduce_x(&own, &sum, 1, sizeof(own), reduce_sum<uint64_t>).group(low).runtime(runtime)();
        EXPECT_EQ(sum, 2U);
      }
    }
    free_comp_x{&queue}.runtime(runtime)();
  });
}

}  // namespace
}  // namespace lci
