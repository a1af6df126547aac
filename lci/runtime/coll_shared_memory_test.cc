// Collective operations of ranks that share memory: what differs from operations by messages.
#include "lci/runtime/instance/shared_memory.h"

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lci/api/lci.hpp"
#include "lci/runtime/collective/call.h"
#include "lci/runtime/instance/runtime.h"
#include "lci/testing/ranks/ranks.h"

namespace lci {
namespace {

void add(const void* left, const void* right, void* dst, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    static_cast<uint64_t*>(dst)[i] =
        static_cast<const uint64_t*>(left)[i] + static_cast<const uint64_t*>(right)[i];
  }
}

// As run_job, without the last barrier: for ranks that disagree on what they call.
void run_disagreeing(int ranks, const std::function<void(runtime_t)>& body) {
  run_ranks(ranks, [&](std::unique_ptr<boot::bootstrap> boot) {
    const auto runtime =
        std::make_unique<runtime_impl_t>(std::move(boot), runtime_attr_t(), global_attr_t());
    body(runtime.get());
  });
}

template <class Run>
std::string error_of(const Run& run) {
  try {
    run();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

TEST(SharedMemory, RanksOfOneHostHaveIt) {
  run_job(3, [](runtime_t runtime) {
    ASSERT_NE(runtime.p_impl->shared_memory(), nullptr);
    EXPECT_GE(runtime.p_impl->shared_memory()->arena().joined(), coll::arena::join_state::mapped);
  });
}

// Some ranks wait inside the call and others do not: the operation is the same.
TEST(SharedMemory, BlockingCallsMeetCallsWithAComp) {
  run_job(4, [](runtime_t runtime) {
    const auto rank = static_cast<uint64_t>(rank_of(runtime));
    comp_t sync = alloc_sync_x().runtime(runtime)();
    for (uint64_t round = 0; round < 200; ++round) {
      const size_t count = round % 3 == 0 ? 1 : round % 3 == 1 ? 700 : 20000;
      std::vector<uint64_t> own(count, rank + round);
      std::vector<uint64_t> sums(count);
      auto call = allreduce_x(own.data(), sums.data(), count, sizeof(uint64_t), add);
      call.runtime(runtime);
      if ((rank + round) % 2 == 0) {
        call();
      } else {
        call.comp(sync)();
        status_t status;
        sync_wait_x(sync, &status).runtime(runtime)();
        ASSERT_TRUE(status.is_done());
        ASSERT_EQ(status.user_context, nullptr);
      }
      ASSERT_EQ(sums, std::vector<uint64_t>(count, 6 + 4 * round));
    }
    free_comp_x{&sync}.runtime(runtime)();
  });
}

// More than there are lines, with a blocking operation behind them.
TEST(SharedMemory, ManyOperationsAreUnderWayAtATime) {
  run_job(3, [](runtime_t runtime) {
    constexpr size_t many = 200;
    const auto rank = static_cast<uint64_t>(rank_of(runtime));
    std::vector<uint64_t> own(many);
    std::vector<uint64_t> sums(many);
    comp_t counter = alloc_counter_x().runtime(runtime)();
    for (size_t i = 0; i < many; ++i) {
      own[i] = rank + i;
      allreduce_x(&own[i], &sums[i], 1, sizeof(uint64_t), add).comp(counter).runtime(runtime)();
    }
    barrier_x().runtime(runtime)();
    while (counter_get_x(counter).runtime(runtime)() < static_cast<int64_t>(many)) {
      progress_x().runtime(runtime)();
    }
    for (size_t i = 0; i < many; ++i) ASSERT_EQ(sums[i], 3 + 3 * i);
    free_comp_x{&counter}.runtime(runtime)();
  });
}

// A handler starts the next operation.
TEST(SharedMemory, AHandlerMayStartTheNextOperation) {
  static constexpr int steps = 100;
  static thread_local runtime_t own;
  static thread_local comp_t next;
  static thread_local int done;
  run_job(2, [](runtime_t runtime) {
    own = runtime;
    done = 0;
    next = alloc_handler_x([](status_t status) {
             if (!status.is_done()) return;
             if (++done < steps) barrier_x().comp(next).runtime(own)();
           }).runtime(runtime)();
    barrier_x().comp(next).runtime(runtime)();
    while (done < steps) progress_x().runtime(runtime)();
    free_comp_x{&next}.runtime(runtime)();
  });
}

TEST(SharedMemory, ADifferentOperationIsAnErrorOnBothRanks) {
  run_disagreeing(2, [](runtime_t runtime) {
    uint64_t value = 1;
    uint64_t sum = 0;
    const std::string error = error_of([&] {
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
  run_disagreeing(2, [](runtime_t runtime) {
    comp_t queue = alloc_cq_x().runtime(runtime)();
    char byte = 0;
    const int root = 1 - rank_of(runtime);
    broadcast_x(&byte, 1, root).comp(queue).runtime(runtime)();
    status_t status;
    do {
      progress_x().runtime(runtime)();
      status = cq_pop_x(queue).runtime(runtime)();
    } while (status.is_retry());
    EXPECT_EQ(status.error.errorcode, errorcode_t::fatal);
    free_comp_x{&queue}.runtime(runtime)();
  });
}

// One size goes through shared memory, the other one (with an algorithm of the caller's choice) by
// messages.
TEST(SharedMemory, AnOperationByMessagesIsComparedToo) {
  run_disagreeing(2, [](runtime_t runtime) {
    std::vector<uint64_t> own(100);
    std::vector<uint64_t> sums(100);
    const size_t count = rank_of(runtime) == 0 ? 100 : 50;
    const auto algorithm =
        rank_of(runtime) == 0 ? allreduce_algorithm_t::tree : allreduce_algorithm_t::none;
    const std::string error = error_of([&] {
      allreduce_x(own.data(), sums.data(), count, sizeof(uint64_t), add)
          .algorithm(algorithm)
          .runtime(runtime)();
    });
    EXPECT_NE(error.find("rank 0 calls allreduce of 800 bytes"), std::string::npos) << error;
    EXPECT_NE(error.find("rank 1 calls allreduce of 400 bytes"), std::string::npos) << error;
  });
}

TEST(SharedMemory, ABarrierDoesNotPairWithAFinalization) {
  run_disagreeing(2, [](runtime_t runtime) {
    const std::string error = error_of([&] {
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
  run_disagreeing(2, [](runtime_t runtime) {
    if (rank_of(runtime) == 1) return;
    comp_t queue = alloc_cq_x().runtime(runtime)();
    barrier_x().comp(queue).runtime(runtime)();
    EXPECT_TRUE(cq_pop_x(queue).runtime(runtime)().is_retry());
    runtime.p_impl->engines().fail_peer(1);
    status_t status;
    do {
      progress_x().runtime(runtime)();
      status = cq_pop_x(queue).runtime(runtime)();
    } while (status.is_retry());
    EXPECT_EQ(status.error.errorcode, errorcode_t::fatal);
    EXPECT_THROW(barrier_x().runtime(runtime)(), peer_failure_error);
    free_comp_x{&queue}.runtime(runtime)();
  });
}

}  // namespace
}  // namespace lci
