// Nothing is allocated per start of a persistent collective, nor per call of a collective operation
// in shared memory, once everything has been used once.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lci/api/lci.hpp"
#include "lci/runtime/instance/runtime.h"
#include "lci/testing/allocations/allocations.h"
#include "lci/testing/ranks/ranks.h"

namespace lci {
namespace {

// One rank of a job in which all do the same.
class counted_rank {
 public:
  explicit counted_rank(runtime_t owner)
      : runtime(owner),
        sync(alloc_sync_x().runtime(owner)()),
        barrier_(alloc_persistent_coll(barrier_x().runtime(owner))) {}
  ~counted_rank() {
    free_persistent_coll(&barrier_);
    free_comp_x{&sync}.runtime(runtime)();
  }

  // No rank begins a round before all have ended the last one, so that the number of messages that
  // wait for their receive has a limit. A thread that runs ahead may still need memory that no
  // thread has needed before: but not in every batch.
  template <class Round>
  void expect_no_allocations(const std::string& what, const Round& round) const {
    constexpr int batches = 6;
    constexpr int rounds = 30;
    long least = std::numeric_limits<long>::max();
    for (int batch = 0; batch < batches; ++batch) {
      meet();
      const long before = allocations();
      for (int i = 0; i < rounds; ++i) {
        round();
        meet();
      }
      least = std::min(least, allocations() - before);
      meet();
    }
    EXPECT_EQ(least, 0) << what << ", rank " << rank_of(runtime);
  }

  void wait() const { sync_wait_x(sync, nullptr).runtime(runtime)(); }

  // Starts that block, and starts with a completion object.
  template <class Op>
  void expect_no_allocations_of_starts(const std::string& what, Op op) const {
    op.runtime(runtime);
    persistent_coll_t blocking = alloc_persistent_coll(op);
    persistent_coll_t other = alloc_persistent_coll(op.comp(sync));
    expect_no_allocations("starts of " + what, [&] { persistent_coll_start(blocking); });
    expect_no_allocations("starts with a comp of " + what, [&] {
      persistent_coll_start(other);
      wait();
    });
    free_persistent_coll(&blocking);
    free_persistent_coll(&other);
  }

  const runtime_t runtime;
  comp_t sync;

 private:
  void meet() const { persistent_coll_start(barrier_); }

  persistent_coll_t barrier_;
};

bool shares_memory(runtime_t runtime) {
  rt::shared_memory* const shared = runtime.p_impl->shared_memory();
  return shared != nullptr && shared->arena().joined() == coll::arena::join_state::readable;
}

// body(what, op), for the operations.
template <class Body>
void for_each_operation(const counted_rank& rank, const Body& body) {
  const auto n = static_cast<size_t>(size_of(rank.runtime));
  const reduce_op_t sum = reduce_sum<uint64_t>;
  body("barrier", barrier_x());
  // In a line, in the area, and in the ranks' own memory; eager, and by rendezvous.
  for (const size_t count : {size_t{1}, size_t{500}, size_t{10000}}) {
    const size_t size = count * sizeof(uint64_t);
    std::vector<uint64_t> in(count * n), out(count * n);
    const std::vector<size_t> sizes(n, size);
    const std::vector<size_t> counts(n, count);
    const auto named = [size](const char* name) {
      return std::string(name) + " of " + std::to_string(size);
    };
    // By rendezvous over libfabric, a buffer that the program has not registered is registered for
    // each message.
    mr_t mr_in = register_memory_x(in.data(), size * n).runtime(rank.runtime)();
    mr_t mr_out = register_memory_x(out.data(), size * n).runtime(rank.runtime)();
    body(named("broadcast"), broadcast_x(out.data(), size, 0));
    body(named("broadcast by messages"),
         broadcast_x(out.data(), size, 0).algorithm(broadcast_algorithm_t::tree));
    body(named("gather"), gather_x(in.data(), out.data(), size, 0));
    body(named("scatter"), scatter_x(in.data(), out.data(), size, 0));
    body(named("alltoall"), alltoall_x(in.data(), out.data(), size));
    body(named("alltoallv"), alltoallv_x(in.data(), sizes.data(), out.data(), sizes.data()));
    // These have buffers of the library's own, too.
    if (size < 8192 || shares_memory(rank.runtime)) {
      body(named("allgather"), allgather_x(in.data(), out.data(), size));
      body(named("allgatherv"), allgatherv_x(in.data(), out.data(), sizes.data()));
      body(named("reduce"), reduce_x(in.data(), out.data(), count, 8, sum, 0));
      body(named("allreduce"), allreduce_x(in.data(), out.data(), count, 8, sum));
      body(named("allreduce by messages"), allreduce_x(in.data(), out.data(), count, 8, sum)
                                               .algorithm(allreduce_algorithm_t::direct));
      body(named("reduce_scatter"), reduce_scatter_x(in.data(), out.data(), count, 8, sum));
      body(named("reduce_scatterv"),
           reduce_scatterv_x(in.data(), out.data(), counts.data(), 8, sum));
      body(named("scan"), scan_x(in.data(), out.data(), count, 8, sum));
      body(named("exscan"), exscan_x(in.data(), out.data(), count, 8, sum));
    }
    deregister_memory_x{&mr_in}.runtime(rank.runtime)();
    deregister_memory_x{&mr_out}.runtime(rank.runtime)();
  }
}

TEST(CollAllocation, NonePerStartOfAPersistentCollective) {
  for (const int ranks : {1, 2, 3}) {
    run_job(ranks, [](runtime_t runtime) {
      const counted_rank rank(runtime);
      for_each_operation(rank, [&rank](const std::string& what, const auto& op) {
        rank.expect_no_allocations_of_starts(what, op);
      });
    });
  }
}

// Several starts end in another order than they began.
TEST(CollAllocation, NonePerStartOfSeveral) {
  run_job(3, [](runtime_t runtime) {
    const counted_rank rank(runtime);
    comp_t counter = alloc_counter_x().runtime(runtime)();
    constexpr size_t many = 40;
    std::vector<uint64_t> own(many, 1), sums(many);
    std::vector<persistent_coll_t> recorded;
    for (size_t i = 0; i < many; ++i) {
      recorded.push_back(alloc_persistent_coll(
          allreduce_x(&own[i], &sums[i], 1, sizeof(uint64_t), reduce_sum<uint64_t>)
              .algorithm(i % 4 == 3 ? allreduce_algorithm_t::tree : allreduce_algorithm_t::none)
              .comp(counter)
              .runtime(runtime)));
    }
    rank.expect_no_allocations("starts of several", [&] {
      counter_set_x(counter, 0).runtime(runtime)();
      for (const persistent_coll_t& each : recorded) persistent_coll_start(each);
      while (counter_get_x(counter).runtime(runtime)() < static_cast<int64_t>(many)) {
        progress_x().runtime(runtime)();
      }
    });
    for (persistent_coll_t& each : recorded) free_persistent_coll(&each);
    free_comp_x{&counter}.runtime(runtime)();
  });
}

// Of ranks that share memory. The operations that take arrays keep copies of them.
TEST(CollAllocation, NonePerCallInSharedMemory) {
  for (const int ranks : {1, 2, 3}) {
    run_job(ranks, [](runtime_t runtime) {
      if (!shares_memory(runtime)) return;
      const counted_rank rank(runtime);
      for_each_operation(rank, [&](const std::string& what, auto op) {
        if (what.find("v of") != std::string::npos) return;
        if (what.find("by messages") != std::string::npos) return;
        op.runtime(runtime);
        rank.expect_no_allocations("calls of " + what, [&] { op(); });
        op.comp(rank.sync);
        rank.expect_no_allocations("calls with a comp of " + what, [&] {
          op();
          rank.wait();
        });
      });
    });
  }
}

}  // namespace
}  // namespace lci
