// Reference results and the fixture of the tests of collective operations.
#ifndef LCI_TESTING_RANKS_COLLECTIVES_H_
#define LCI_TESTING_RANKS_COLLECTIVES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "lci/api/lci.hpp"
#include "lci/runtime/instance/runtime.h"
#include "lci/testing/affine/affine.h"
#include "lci/testing/ranks/ranks.h"

namespace lci {

inline affine item(int rank, size_t i) {
  return {static_cast<uint32_t>(2 * (static_cast<size_t>(rank) + i) + 1),
          static_cast<uint32_t>(7 * i + static_cast<size_t>(rank))};
}
inline std::vector<affine> items_of(int rank, size_t count) {
  std::vector<affine> items(count);
  for (size_t i = 0; i < count; ++i) items[i] = item(rank, i);
  return items;
}
inline affine reduced(int ranks, size_t i) {
  affine all = item(0, i);
  for (int r = 1; r < ranks; ++r) {
    const affine next = item(r, i);
    compose(&all, &next, &all, 1);
  }
  return all;
}
inline std::vector<affine> all_reduced(int ranks, size_t count) {
  std::vector<affine> items(count);
  for (size_t i = 0; i < count; ++i) items[i] = reduced(ranks, i);
  return items;
}

class Collectives : public rank_test {
 protected:
  // Runs body(runtime, call) twice: call(op) carries out op with a blocking call, and with a
  // completion object. Over the simulated network the seed chooses one of them.
  template <class Body>
  void run(const Body& body) {
    const bool first = !simulated() || seed_choice(2, 2) == 0;
    const bool second = !simulated() || !first;
    run_job(ranks(), [&](runtime_t runtime) {
      if (first) body(runtime, [runtime](auto op) { op.runtime(runtime)(); });
      if (!second) return;
      comp_t sync = alloc_sync_x().runtime(runtime)();
      body(runtime, [runtime, sync](auto op) {
        op.runtime(runtime).comp(sync)();
        status_t status;
        sync_wait_x(sync, &status).runtime(runtime)();
        EXPECT_TRUE(status.is_done());
      });
      free_comp_x{&sync}.runtime(runtime)();
    });
  }
};

// Operations of ranks that meet in memory, all of them or those of each host.

// Some ranks wait inside the call and others do not: the operation is the same. `add` adds items of
// 64 bits.
inline void mix_blocking_calls_and_comps(int ranks, uint64_t rounds, reduce_op_t add) {
  run_job(ranks, [rounds, add](runtime_t runtime) {
    const auto n = static_cast<uint64_t>(size_of(runtime));
    const auto rank = static_cast<uint64_t>(rank_of(runtime));
    comp_t sync = alloc_sync_x().runtime(runtime)();
    for (uint64_t round = 0; round < rounds; ++round) {
      const size_t count = round % 3 == 0 ? 1 : round % 3 == 1 ? 700 : 20000;
      const std::vector<uint64_t> own(count, rank + round);
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
      ASSERT_EQ(sums, std::vector<uint64_t>(count, n * (n - 1) / 2 + n * round));
    }
    free_comp_x{&sync}.runtime(runtime)();
  });
}

// More than there are lines, with a blocking operation behind them.
inline void keep_many_under_way(int ranks, reduce_op_t add) {
  run_job(ranks, [add](runtime_t runtime) {
    constexpr size_t many = 200;
    const auto n = static_cast<uint64_t>(size_of(runtime));
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
    for (size_t i = 0; i < many; ++i) ASSERT_EQ(sums[i], n * (n - 1) / 2 + n * i);
    free_comp_x{&counter}.runtime(runtime)();
  });
}

inline void start_the_next_in_a_handler(int ranks) {
  static constexpr int steps = 100;
  static thread_local runtime_t own;
  static thread_local comp_t next;
  static thread_local int done;
  run_job(ranks, [](runtime_t runtime) {
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

}  // namespace lci

#endif  // LCI_TESTING_RANKS_COLLECTIVES_H_
