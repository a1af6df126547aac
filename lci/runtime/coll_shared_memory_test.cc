// Collective operations of ranks that share memory: what differs from operations by messages.
#include "lci/runtime/instance/shared_memory.h"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lci/api/lci.hpp"
#include "lci/runtime/collective/call.h"
#include "lci/runtime/instance/runtime.h"
#include "lci/testing/ranks/collectives.h"
#include "lci/testing/ranks/ranks.h"

namespace lci {
namespace {

void add(const void* left, const void* right, void* dst, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    static_cast<uint64_t*>(dst)[i] =
        static_cast<const uint64_t*>(left)[i] + static_cast<const uint64_t*>(right)[i];
  }
}

TEST(SharedMemory, RanksOfOneHostHaveIt) {
  run_job(3, [](runtime_t runtime) {
    ASSERT_NE(runtime.p_impl->shared_memory(), nullptr);
    EXPECT_GE(runtime.p_impl->shared_memory()->arena().joined(), coll::arena::join_state::mapped);
  });
}

TEST(SharedMemory, BlockingCallsMeetCallsWithAComp) { mix_blocking_calls_and_comps(4, 200, add); }
TEST(SharedMemory, ManyOperationsAreUnderWayAtATime) { keep_many_under_way(3, add); }
TEST(SharedMemory, AHandlerMayStartTheNextOperation) { start_the_next_in_a_handler(2); }

TEST(SharedMemory, ADifferentOperationIsAnErrorOnBothRanks) {
  run_apart(2, [](runtime_t runtime) {
    uint64_t value = 1;
    uint64_t sum = 0;
    const std::string error = error_of<std::runtime_error>([&] {
      if (rank_of(runtime) == 0) {
        barrier_x().runtime(runtime)();
      } else {
        allreduce_x(&value, &sum, 1, sizeof(value), add).runtime(runtime)();
      }
    });
    EXPECT_NE(error.find("rank 0 calls barrier"), std::string::npos) << error;
    EXPECT_NE(error.find("rank 1 calls allreduce of 8 bytes in items of 8 bytes"),
              std::string::npos)
        << error;
  });
}

TEST(SharedMemory, ADifferentOperationEndsTheCompWithFatal) {
  run_apart(2, [](runtime_t runtime) {
    comp_t queue = alloc_cq_x().runtime(runtime)();
    char byte = 0;
    const int root = 1 - rank_of(runtime);
    broadcast_x(&byte, 1, root).comp(queue).runtime(runtime)();
    const status_t status = pop_from(runtime, queue);
    EXPECT_EQ(status.error.errorcode, errorcode_t::fatal);
    free_comp_x{&queue}.runtime(runtime)();
  });
}

// One size goes through shared memory, the other one (with an algorithm of the caller's choice) by
// messages.
TEST(SharedMemory, AnOperationByMessagesIsComparedToo) {
  run_apart(2, [](runtime_t runtime) {
    std::vector<uint64_t> own(100);
    std::vector<uint64_t> sums(100);
    const size_t count = rank_of(runtime) == 0 ? 100 : 50;
    const auto algorithm =
        rank_of(runtime) == 0 ? allreduce_algorithm_t::tree : allreduce_algorithm_t::none;
    const std::string error = error_of<std::runtime_error>([&] {
      allreduce_x(own.data(), sums.data(), count, sizeof(uint64_t), add)
          .algorithm(algorithm)
          .runtime(runtime)();
    });
    EXPECT_NE(error.find("rank 0 calls allreduce of 800 bytes"), std::string::npos) << error;
    EXPECT_NE(error.find("rank 1 calls allreduce of 400 bytes"), std::string::npos) << error;
  });
}

TEST(SharedMemory, ABarrierDoesNotPairWithAFinalization) {
  run_apart(2, [](runtime_t runtime) {
    const std::string error = error_of<std::runtime_error>([&] {
      if (rank_of(runtime) == 0) {
        barrier_x().runtime(runtime)();
      } else {
        rt::final_barrier(runtime);
      }
    });
    EXPECT_NE(error.find("rank 0 calls barrier"), std::string::npos) << error;
    EXPECT_NE(error.find("rank 1 calls free_runtime"), std::string::npos) << error;
  });
}

TEST(SharedMemory, ALostRankEndsOperations) {
  run_apart(2, [](runtime_t runtime) {
    if (rank_of(runtime) == 1) return;
    comp_t queue = alloc_cq_x().runtime(runtime)();
    barrier_x().comp(queue).runtime(runtime)();
    EXPECT_TRUE(cq_pop_x(queue).runtime(runtime)().is_retry());
    runtime.p_impl->engines().fail_peer(1);
    const status_t status = pop_from(runtime, queue);
    EXPECT_EQ(status.error.errorcode, errorcode_t::fatal);
    EXPECT_THROW(barrier_x().runtime(runtime)(), peer_failure_error);
    free_comp_x{&queue}.runtime(runtime)();
  });
}

}  // namespace
}  // namespace lci
