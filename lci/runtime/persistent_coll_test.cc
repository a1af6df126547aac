// Persistent collectives: the results of every operation, recorded once and started several times,
// blocking and with a completion object, in parallel, and mixed with calls.
#include "lci/api/persistent_coll.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "lci/api/lci.hpp"
#include "lci/runtime/instance/runtime.h"
#include "lci/testing/ranks/collectives.h"
#include "lci/testing/ranks/ranks.h"

namespace lci {
namespace {

using bytes = std::vector<unsigned char>;

constexpr int rounds = 4;

// Records operations, and starts them: with a comp, or so that each start blocks.
class starter {
 public:
  starter(runtime_t runtime, group_t group, bool blocks)
      : runtime_(runtime),
        group_(group),
        sync_(blocks ? comp_t() : alloc_sync_x().runtime(runtime)()) {}
  ~starter() {
    if (!sync_.is_empty()) free_comp_x{&sync_}.runtime(runtime_)();
  }

  int size() const { return group_.is_empty() ? size_of(runtime_) : get_rank_n(group_); }
  int rank() const { return group_.is_empty() ? rank_of(runtime_) : get_rank_me(group_); }

  template <class Op>
  persistent_coll_t record(Op op) const {
    op.runtime(runtime_).group(group_);
    if (!sync_.is_empty()) op.comp(sync_);
    return alloc_persistent_coll_x(op).name("recorded").user_context(context())();
  }
  void start(persistent_coll_t recorded) const {
    persistent_coll_start(recorded);
    if (sync_.is_empty()) return;
    status_t status;
    sync_wait_x(sync_, &status).runtime(runtime_)();
    ASSERT_TRUE(status.is_done());
    ASSERT_EQ(status.user_context, context());
  }
  // In each round, prepare(round), a start, and check(round).
  template <class Op, class Prepare, class Check>
  void run(const Op& op, const Prepare& prepare, const Check& check) const {
    persistent_coll_t recorded = record(op);
    for (int round = 0; round < rounds; ++round) {
      SCOPED_TRACE(testing::Message() << "rank " << rank() << ", round " << round);
      prepare(round);
      start(recorded);
      check(round);
    }
    free_persistent_coll(&recorded);
    EXPECT_TRUE(recorded.is_empty());
  }

 private:
  void* context() const { return const_cast<starter*>(this); }

  const runtime_t runtime_;
  const group_t group_;
  comp_t sync_;
};

bytes concatenated(const std::vector<bytes>& parts) {
  bytes all;
  for (const bytes& each : parts) all.insert(all.end(), each.begin(), each.end());
  return all;
}

bytes own_bytes(int rank, int round, size_t size) {
  return make_message(rank, static_cast<tag_t>(round + 1), size);
}
bytes bytes_of_all(int ranks, int round, size_t size) {
  std::vector<bytes> parts;
  for (int r = 0; r < ranks; ++r) parts.push_back(own_bytes(r, round, size));
  return concatenated(parts);
}

void copy_operations(const starter& with, size_t size) {
  const int n = with.size();
  const int me = with.rank();
  const auto ranks = static_cast<size_t>(n);
  const int root = n - 1;
  bytes own(size), all(size * ranks), out(size), many(size * ranks);
  const auto fill = [](bytes* to, const bytes& from) {
    std::copy(from.begin(), from.end(), to->begin());
  };
  const auto prepare = [&](int round) {
    fill(&own, own_bytes(me, round, size));
    for (size_t r = 0; r < ranks; ++r) {
      std::copy(own.begin(), own.end(), many.begin() + static_cast<ptrdiff_t>(r * size));
    }
    std::fill(all.begin(), all.end(), static_cast<unsigned char>(0));
    std::fill(out.begin(), out.end(), static_cast<unsigned char>(0));
  };
  const auto has_all = [&](int round) { ASSERT_EQ(all, bytes_of_all(n, round, size)); };
  const auto root_has_all = [&](int round) {
    if (me == root) has_all(round);
  };

  for (const auto algorithm : {broadcast_algorithm_t::none, broadcast_algorithm_t::direct,
                               broadcast_algorithm_t::tree, broadcast_algorithm_t::ring}) {
    with.run(broadcast_x(own.data(), size, root).algorithm(algorithm), prepare,
             [&](int round) { ASSERT_EQ(own, own_bytes(root, round, size)); });
  }
  with.run(gather_x(own.data(), all.data(), size, root), prepare, root_has_all);
  with.run(
      scatter_x(all.data(), out.data(), size, root),
      [&](int round) {
        prepare(round);
        fill(&all, bytes_of_all(n, round, size));
      },
      [&](int round) { ASSERT_EQ(out, own_bytes(me, round, size)); });
  with.run(allgather_x(own.data(), all.data(), size), prepare, has_all);
  with.run(alltoall_x(many.data(), all.data(), size), prepare, has_all);
  // The arrays are the program's again as soon as the operation is recorded.
  auto sizes = std::make_unique<std::vector<size_t>>(ranks, size);
  {
    persistent_coll_t gatherv = with.record(allgatherv_x(own.data(), all.data(), sizes->data()));
    persistent_coll_t exchange =
        with.record(alltoallv_x(many.data(), sizes->data(), all.data(), sizes->data()));
    std::fill(sizes->begin(), sizes->end(), ~size_t{0});
    sizes.reset();
    for (int round = 0; round < rounds; ++round) {
      for (const persistent_coll_t each : {gatherv, exchange}) {
        prepare(round);
        with.start(each);
        has_all(round);
      }
    }
    free_persistent_coll(&gatherv);
    free_persistent_coll(&exchange);
  }
}

std::vector<affine> items_in(int rank, int round, size_t count) {
  return items_of(rank + 50 * round, count);
}
// The items of the ranks up to before `end`, combined in their order.
std::vector<affine> combined(int end, int round, size_t count) {
  std::vector<affine> all = items_in(0, round, count);
  for (int r = 1; r < end; ++r) {
    const auto next = items_in(r, round, count);
    compose(all.data(), next.data(), all.data(), count);
  }
  return all;
}

void reductions(const starter& with, size_t count) {
  const int n = with.size();
  const int me = with.rank();
  const auto ranks = static_cast<size_t>(n);
  const size_t item = sizeof(affine);
  std::vector<affine> in(count * ranks), out(count);
  // Of `parts` times `count` items.
  const auto prepare_parts = [&](int round, size_t parts) {
    const auto items = items_in(me, round, count * parts);
    std::copy(items.begin(), items.end(), in.begin());
    std::fill(out.begin(), out.end(), affine{});
  };
  const auto prepare = [&](int round) { prepare_parts(round, 1); };
  const auto prepare_all = [&](int round) { prepare_parts(round, ranks); };
  const auto is_sum_of = [&](int end) {
    return [&out, end, count](int round) { ASSERT_EQ(out, combined(end, round, count)); };
  };
  const auto has_own_part = [&](int round) {
    const auto whole = combined(n, round, count * ranks);
    const auto begin = whole.begin() + me * static_cast<ptrdiff_t>(count);
    ASSERT_EQ(out, std::vector<affine>(begin, begin + static_cast<ptrdiff_t>(count)));
  };
  const int root = n / 2;
  with.run(reduce_x(in.data(), out.data(), count, item, compose, root), prepare, [&](int round) {
    if (me == root) is_sum_of(n)(round);
  });
  for (const auto algorithm : {allreduce_algorithm_t::none, allreduce_algorithm_t::direct,
                               allreduce_algorithm_t::tree, allreduce_algorithm_t::ring}) {
    with.run(allreduce_x(in.data(), out.data(), count, item, compose).algorithm(algorithm), prepare,
             is_sum_of(n));
  }
  for (const auto algorithm :
       {reduce_scatter_algorithm_t::none, reduce_scatter_algorithm_t::direct,
        reduce_scatter_algorithm_t::tree, reduce_scatter_algorithm_t::ring}) {
    with.run(reduce_scatter_x(in.data(), out.data(), count, item, compose).algorithm(algorithm),
             prepare_all, has_own_part);
  }
  const std::vector<size_t> counts(ranks, count);
  with.run(reduce_scatterv_x(in.data(), out.data(), counts.data(), item, compose), prepare_all,
           has_own_part);
  with.run(scan_x(in.data(), out.data(), count, item, compose), prepare, is_sum_of(me + 1));
  // In place.
  const auto prepare_out = [&](int round) {
    const auto items = items_in(me, round, count);
    std::copy(items.begin(), items.end(), out.begin());
  };
  with.run(scan_x(out.data(), out.data(), count, item, compose), prepare_out, is_sum_of(me + 1));
  with.run(allreduce_x(out.data(), out.data(), count, item, compose), prepare_out, is_sum_of(n));
  with.run(exscan_x(in.data(), out.data(), count, item, compose), prepare, [&](int round) {
    if (me > 0) is_sum_of(me)(round);
  });
}

void use_all(const starter& with) {
  with.run(
      barrier_x(), [](int) {}, [](int) {});
  // In a line, in the area, and in the ranks' own memory; eager, and by rendezvous.
  for (const size_t size : {size_t{0}, size_t{5}, size_t{3000}, size_t{60000}}) {
    if (size <= greatest_size()) copy_operations(with, size);
  }
  for (const size_t count : {size_t{1}, size_t{300}, size_t{9000}}) {
    if (count * sizeof(affine) <= greatest_size()) reductions(with, count);
  }
}

class PersistentColl : public rank_test {};
INSTANTIATE_TEST_SUITE_P(OneToFiveRanks, PersistentColl, testing::ValuesIn(one_to(5)));

// body(blocks), with both values, or with the one that the seed chooses.
void for_both_kinds(const std::function<void(bool blocks)>& body) {
  const bool first = !simulated() || seed_choice(2, 2) == 0;
  if (first) body(true);
  if (!simulated() || !first) body(false);
}

TEST_P(PersistentColl, GivesTheResultsOfTheOperation) {
  run_job(ranks(), [](runtime_t runtime) {
    for_both_kinds([runtime](bool blocks) { use_all(starter(runtime, group_t(), blocks)); });
  });
}

TEST_P(PersistentColl, ServesGroups) {
  run_job(ranks(), [](runtime_t runtime) {
    // From the last rank to the first, and of different sizes.
    const int rank = rank_of(runtime);
    group_t group = split_group_x(rank % 3 == 0 ? 0 : 1, -rank).runtime(runtime)();
    for_both_kinds([&](bool blocks) { use_all(starter(runtime, group, blocks)); });
    free_group_x{&group}.runtime(runtime)();
  });
}

// More than there are lines in shared memory, with calls between them, started in another order
// than recorded.
TEST_P(PersistentColl, SeveralAreInProgressAtATime) {
  run_job(ranks(), [](runtime_t runtime) {
    constexpr size_t many = 50;
    const auto rank = static_cast<uint64_t>(rank_of(runtime));
    const auto n = static_cast<uint64_t>(size_of(runtime));
    std::vector<uint64_t> own(many), sums(many);
    comp_t counter = alloc_counter_x().runtime(runtime)();
    std::vector<persistent_coll_t> recorded;
    for (size_t i = 0; i < many; ++i) {
      recorded.push_back(alloc_persistent_coll(
          allreduce_x(&own[i], &sums[i], 1, sizeof(uint64_t), reduce_sum<uint64_t>)
              .algorithm(i % 4 == 3 ? allreduce_algorithm_t::tree : allreduce_algorithm_t::none)
              .comp(counter)
              .runtime(runtime)));
    }
    for (uint64_t round = 1; round <= 3; ++round) {
      for (size_t i = 0; i < many; ++i) own[i] = round * (rank + i);
      uint64_t call = rank;
      uint64_t sum_of_call = 0;
      for (size_t i = many; i > 0; --i) {
        persistent_coll_start(recorded[i - 1]);
        if (i == many / 2) {
          allreduce_x(&call, &sum_of_call, 1, sizeof(uint64_t), reduce_sum<uint64_t>)
              .runtime(runtime)();
        }
      }
      barrier_x().runtime(runtime)();
      while (counter_get_x(counter).runtime(runtime)() < static_cast<int64_t>(round * many)) {
        progress_x().runtime(runtime)();
      }
      ASSERT_EQ(sum_of_call, n * (n - 1) / 2);
      for (size_t i = 0; i < many; ++i) {
        ASSERT_EQ(sums[i], round * (n * (n - 1) / 2 + n * i)) << i;
      }
    }
    for (persistent_coll_t& each : recorded) free_persistent_coll(&each);
    free_comp_x{&counter}.runtime(runtime)();
  });
}

// Some ranks start it, others call it, and which of them changes.
TEST_P(PersistentColl, AStartMeetsCalls) {
  run_job(ranks(), [](runtime_t runtime) {
    const auto rank = static_cast<uint64_t>(rank_of(runtime));
    const auto n = static_cast<uint64_t>(size_of(runtime));
    for (const size_t count : {size_t{1}, size_t{700}, size_t{20000}}) {
      if (count * sizeof(uint64_t) > greatest_size()) continue;
      for (const auto algorithm : {allreduce_algorithm_t::none, allreduce_algorithm_t::tree}) {
        std::vector<uint64_t> own(count), sums(count);
        const auto call =
            allreduce_x(own.data(), sums.data(), count, sizeof(uint64_t), reduce_sum<uint64_t>)
                .algorithm(algorithm)
                .runtime(runtime);
        persistent_coll_t recorded = alloc_persistent_coll(call);
        for (uint64_t round = 0; round < 6; ++round) {
          std::fill(own.begin(), own.end(), rank + round);
          if ((rank + round) % 2 == 0) {
            call();
          } else {
            persistent_coll_start(recorded);
          }
          ASSERT_EQ(sums, std::vector<uint64_t>(count, n * (n - 1) / 2 + n * round));
        }
        free_persistent_coll(&recorded);
      }
    }
  });
}

// The signal that reports the end starts it again, and at last frees it.
TEST_P(PersistentColl, AHandlerStartsItAgainAndFreesIt) {
  static constexpr int steps = 60;
  static thread_local persistent_coll_t recorded;
  static thread_local int done;
  for (const auto algorithm : {allreduce_algorithm_t::none, allreduce_algorithm_t::tree}) {
    run_job(ranks(), [algorithm](runtime_t runtime) {
      done = 0;
      comp_t next = alloc_handler_x([](status_t status) {
                      EXPECT_TRUE(status.is_done());
                      if (++done < steps) return persistent_coll_start(recorded);
                      free_persistent_coll(&recorded);
                    }).runtime(runtime)();
      const uint64_t own = 1;
      uint64_t sum = 0;
      recorded =
          alloc_persistent_coll(allreduce_x(&own, &sum, 1, sizeof(uint64_t), reduce_sum<uint64_t>)
                                    .algorithm(algorithm)
                                    .comp(next)
                                    .runtime(runtime));
      persistent_coll_start(recorded);
      while (done < steps) progress_x().runtime(runtime)();
      EXPECT_EQ(sum, static_cast<uint64_t>(size_of(runtime)));
      EXPECT_TRUE(recorded.is_empty());
      free_comp_x{&next}.runtime(runtime)();
    });
  }
}

}  // namespace
}  // namespace lci
