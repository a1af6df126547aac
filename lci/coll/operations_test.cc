// Every operation with its data in the line, in the area, in pipes and in the ranks' own memory, on
// any number of ranks.
#include "lci/coll/operations.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "lci/coll/blocks.h"
#include "lci/coll/rooted.h"
#include "lci/coll/scan.h"
#include "lci/testing/affine/affine.h"
#include "lci/testing/arena_ranks/arena_ranks.h"

namespace lci::coll {
namespace {

affine item(int rank, size_t i, int round) {
  return {static_cast<uint32_t>(2 * (static_cast<size_t>(rank) + i) + 1),
          static_cast<uint32_t>(7 * i + static_cast<size_t>(rank) + static_cast<size_t>(round))};
}
std::vector<affine> items_of(int rank, size_t count, int round) {
  std::vector<affine> items(count);
  for (size_t i = 0; i < count; ++i) items[i] = item(rank, i, round);
  return items;
}
std::vector<affine> combined(int ranks, size_t count, int round) {
  std::vector<affine> all = items_of(0, count, round);
  for (int r = 1; r < ranks; ++r) {
    const std::vector<affine> next = items_of(r, count, round);
    for (size_t i = 0; i < count; ++i) compose(&all[i], &next[i], &all[i], 1);
  }
  return all;
}

// Items: in the line, at its end, in the area with and without parts, at its end, and in pipes or
// in memory: of one piece, and of more than a pipe has room for.
const size_t counts[] = {1, 5, 12, 13, 200, 400, 700, 1024, 1025, 4096, 4097, 5000, 40000};
constexpr int rounds = 2;

// Ranks, and the sizes at which their data change their way.
class Operations : public testing::TestWithParam<std::tuple<int, crossovers>> {
 protected:
  static void run(const std::function<void(test_rank&)>& body) {
    const auto& [ranks, sizes] = GetParam();
    run_ranks(ranks, body, reading::possible, sizes);
  }
};
// Besides the defaults, and those without pipes: results past the caches, through pipes and from
// memory; no areas; whole areas without parts; parts of all sizes.
INSTANTIATE_TEST_SUITE_P(
    Ranks, Operations,
    testing::Combine(testing::Values(1, 2, 3, 4, 7),
                     testing::Values(default_sizes, sizes_without_pipes,
                                     crossovers{0, 0, 0, size_t{1} << 30, false, 0},
                                     crossovers{0, 0, 0, 0, false, 0},
                                     crossovers{0, 0, 0, size_t{1} << 30},
                                     crossovers{arena::area_bytes, arena::area_bytes,
                                                size_t{1} << 30, size_t{1} << 30},
                                     crossovers{1000, 1000, 0, 0})));

template <class Body>
void for_each_count(test_rank& rank, const Body& body) {
  for (const size_t count : counts) {
    for (int round = 0; round < rounds; ++round) {
      SCOPED_TRACE(testing::Message()
                   << "rank " << rank.rank() << ", " << count << " items, round " << round);
      body(count, round);
    }
  }
}

TEST_P(Operations, NoRankLeavesABarrierBeforeAllHaveEntered) {
  std::atomic<int> entered{0};
  run([&](test_rank& rank) {
    for (int round = 1; round <= 300; ++round) {
      entered.fetch_add(1, std::memory_order_relaxed);
      barrier each(rank.begin({operation_kind::barrier}));
      test_rank::run(&each);
      ASSERT_GE(entered.load(std::memory_order_relaxed), round * rank.size());
    }
  });
}

TEST_P(Operations, ABroadcastGivesTheRootsBytesToAll) {
  run([&](test_rank& rank) {
    for_each_count(rank, [&](size_t count, int round) {
      const int root = round % rank.size();
      std::vector<affine> buffer = items_of(rank.rank(), count, round);
      broadcast each(rank.begin({operation_kind::broadcast, root, count}), buffer.data(),
                     count * sizeof(affine), root);
      test_rank::run(&each);
      ASSERT_EQ(buffer, items_of(root, count, round));
    });
  });
}

// The root runs ahead as far as it may, and no further: lines and areas are used again.
TEST_P(Operations, ManyBroadcastsInARowKeepTheirBytes) {
  run([&](test_rank& rank) {
    for (const size_t count : {size_t{2}, size_t{300}, size_t{5000}}) {
      for (int round = 0; round < (count < 1000 ? 500 : 50); ++round) {
        std::vector<affine> buffer = items_of(rank.rank(), count, round);
        broadcast each(rank.begin({operation_kind::broadcast, 0, count}), buffer.data(),
                       count * sizeof(affine), 0);
        test_rank::run(&each);
        ASSERT_EQ(buffer, items_of(0, count, round)) << round;
      }
    }
  });
}

TEST_P(Operations, ReductionsCombineInTheOrderOfTheRanks) {
  run([&](test_rank& rank) {
    for_each_count(rank, [&](size_t count, int round) {
      const size_t bytes = count * sizeof(affine);
      const std::vector<affine> expected = combined(rank.size(), count, round);
      const std::vector<affine> own = items_of(rank.rank(), count, round);
      const int root = rank.size() - 1 - round % rank.size();

      std::vector<affine> result(count);
      reduce to_root(rank.begin({operation_kind::reduce, root, bytes}),
                     {own.data(), result.data(), bytes, sizeof(affine), compose}, root);
      test_rank::run(&to_root);
      ASSERT_EQ(result, rank.rank() == root ? expected : std::vector<affine>(count));

      result.assign(count, affine{});
      allreduce to_all(rank.begin({operation_kind::allreduce, -1, bytes}),
                       {own.data(), result.data(), bytes, sizeof(affine), compose});
      test_rank::run(&to_all);
      ASSERT_EQ(result, expected);

      result = own;
      allreduce in_place(rank.begin({operation_kind::allreduce, -1, bytes}),
                         {result.data(), result.data(), bytes, sizeof(affine), compose});
      test_rank::run(&in_place);
      ASSERT_EQ(result, expected);

      result = own;
      reduce in_place_to_root(rank.begin({operation_kind::reduce, root, bytes}),
                              {result.data(), result.data(), bytes, sizeof(affine), compose}, root);
      test_rank::run(&in_place_to_root);
      ASSERT_EQ(result, rank.rank() == root ? expected : own);
    });
  });
}

TEST_P(Operations, AReduceScatterGivesEachRankItsBlock) {
  run([&](test_rank& rank) {
    for_each_count(rank, [&](size_t count, int round) {
      const auto ranks = static_cast<size_t>(rank.size());
      const size_t bytes = count * sizeof(affine);
      const auto begin = static_cast<ptrdiff_t>(count * static_cast<size_t>(rank.rank()));
      const auto end = begin + static_cast<ptrdiff_t>(count);
      const std::vector<affine> all = combined(rank.size(), ranks * count, round);
      const std::vector<affine> expected(all.begin() + begin, all.begin() + end);
      std::vector<affine> sent = items_of(rank.rank(), ranks * count, round);
      std::vector<affine> result(count);
      reduce_scatter each(rank.begin({operation_kind::reduce_scatter, -1, bytes}),
                          {sent.data(), result.data(), bytes, sizeof(affine), compose});
      test_rank::run(&each);
      ASSERT_EQ(result, expected);

      result.assign(count, affine{});
      reduce_scatterv of_any_size(rank.begin({operation_kind::reduce_scatterv, -1, bytes}),
                                  {sent.data(), result.data(), bytes, sizeof(affine), compose},
                                  equal_blocks(rank.size(), bytes));
      test_rank::run(&of_any_size);
      ASSERT_EQ(result, expected);

      reduce_scatter in_place(rank.begin({operation_kind::reduce_scatter, -1, bytes}),
                              {sent.data(), sent.data() + begin, bytes, sizeof(affine), compose});
      test_rank::run(&in_place);
      ASSERT_EQ(std::vector<affine>(sent.begin() + begin, sent.begin() + end), expected);
    });
  });
}

TEST_P(Operations, ScansCombineTheItemsOfTheRanksBefore) {
  run([&](test_rank& rank) {
    for_each_count(rank, [&](size_t count, int round) {
      const size_t bytes = count * sizeof(affine);
      const std::vector<affine> own = items_of(rank.rank(), count, round);
      for (const scan_kind kind : {scan_kind::inclusive, scan_kind::exclusive}) {
        const bool is_inclusive = kind == scan_kind::inclusive;
        const int ranks = rank.rank() + (is_inclusive ? 1 : 0);
        const auto name = is_inclusive ? operation_kind::scan : operation_kind::exscan;
        std::vector<affine> result(count);
        scan apart(rank.begin({name, -1, bytes}),
                   {own.data(), result.data(), bytes, sizeof(affine), compose}, kind);
        test_rank::run(&apart);
        ASSERT_EQ(result, ranks == 0 ? std::vector<affine>(count) : combined(ranks, count, round));

        result = own;
        scan in_place(rank.begin({name, -1, bytes}),
                      {result.data(), result.data(), bytes, sizeof(affine), compose}, kind);
        test_rank::run(&in_place);
        ASSERT_EQ(result, ranks == 0 ? own : combined(ranks, count, round)) << "in place";
      }
    });
  });
}

// The blocks of some ranks are empty, and the others have 1, 2, 3, ... times as many items.
TEST_P(Operations, BlocksDifferInSize) {
  run([&](test_rank& rank) {
    for_each_count(rank, [&](size_t count, int round) {
      const auto me = static_cast<size_t>(rank.rank());
      block_layout blocks;
      std::vector<affine> expected;
      size_t all = 0;
      for (int r = 0; r < rank.size(); ++r) {
        const size_t items = r % 3 == 1 ? 0 : count / 4 * static_cast<size_t>(r + 1);
        blocks.blocks.push_back({all * sizeof(affine), items * sizeof(affine)});
        const std::vector<affine> block = items_of(r, items, round);
        expected.insert(expected.end(), block.begin(), block.end());
        all += items;
      }
      if (all == 0) return;
      const block_layout::block& own = blocks.blocks[me];
      const std::vector<affine> sent = items_of(rank.rank(), own.size / sizeof(affine), round);
      std::vector<affine> result(all);
      allgatherv apart(rank.begin({operation_kind::allgatherv, -1, all}), sent.data(),
                       result.data(), blocks);
      test_rank::run(&apart);
      ASSERT_EQ(result, expected);

      std::vector<affine> items = items_of(rank.rank(), all, round);
      const std::vector<affine> sums = combined(rank.size(), all, round);
      const auto begin = static_cast<ptrdiff_t>(own.offset / sizeof(affine));
      const auto count_of_own = static_cast<ptrdiff_t>(own.size / sizeof(affine));
      const std::vector<affine> own_sums(sums.begin() + begin, sums.begin() + begin + count_of_own);
      std::vector<affine> block(own_sums.size());
      for (affine* const to : {block.data(), items.data() + begin}) {
        reduce_scatterv of_blocks(rank.begin({operation_kind::reduce_scatterv, -1, all}),
                                  {items.data(), to, own.size, sizeof(affine), compose}, blocks);
        test_rank::run(&of_blocks);
        ASSERT_EQ(std::vector<affine>(to, to + count_of_own), own_sums);
      }
    });
  });
}

TEST_P(Operations, GathersAndExchangesPutEachBlockInItsPlace) {
  run([&](test_rank& rank) {
    for_each_count(rank, [&](size_t count, int round) {
      const auto ranks = static_cast<size_t>(rank.size());
      const auto me = static_cast<size_t>(rank.rank());
      const size_t bytes = count * sizeof(affine);
      std::vector<affine> expected;
      for (int r = 0; r < rank.size(); ++r) {
        const std::vector<affine> remote = items_of(r, count, round);
        expected.insert(expected.end(), remote.begin(), remote.end());
      }
      const std::vector<affine> own = items_of(rank.rank(), count, round);
      std::vector<affine> result(ranks * count);
      allgather each(rank.begin({operation_kind::allgather, -1, bytes}), own.data(), result.data(),
                     bytes);
      test_rank::run(&each);
      ASSERT_EQ(result, expected);

      result.assign(ranks * count, affine{});
      std::copy(own.begin(), own.end(), result.begin() + static_cast<ptrdiff_t>(me * count));
      allgather in_place(rank.begin({operation_kind::allgather, -1, bytes}),
                         result.data() + me * count, result.data(), bytes);
      test_rank::run(&in_place);
      ASSERT_EQ(result, expected);

      // Block r of rank s is the items of rank s, from number r * count on.
      const std::vector<affine> sent = items_of(rank.rank(), ranks * count, round);
      alltoall exchange(rank.begin({operation_kind::alltoall, -1, bytes}), sent.data(),
                        result.data(), bytes);
      test_rank::run(&exchange);
      for (size_t from = 0; from < ranks; ++from) {
        for (size_t i = 0; i < count; ++i) {
          ASSERT_EQ(result[from * count + i], item(static_cast<int>(from), me * count + i, round));
        }
      }

      const int root = round % rank.size();
      result.assign(ranks * count, affine{});
      gather to_root(rank.begin({operation_kind::gather, root, bytes}), own.data(), result.data(),
                     bytes, root);
      test_rank::run(&to_root);
      ASSERT_EQ(result, rank.rank() == root ? expected : std::vector<affine>(ranks * count));

      std::vector<affine> block(count);
      scatter from_root(rank.begin({operation_kind::scatter, root, bytes}), sent.data(),
                        block.data(), bytes, root);
      test_rank::run(&from_root);
      for (size_t i = 0; i < count; ++i) ASSERT_EQ(block[i], item(root, me * count + i, round));
    });
  });
}

// Operations that are under way at a time end in any order, more of them than there are lines.
TEST_P(Operations, ManyAreUnderWayAtATime) {
  run([&](test_rank& rank) {
    constexpr int many = 3 * static_cast<int>(arena::lines);
    std::vector<std::vector<affine>> results(many);
    std::vector<std::vector<affine>> own(many);
    std::vector<std::unique_ptr<operation>> under_way;
    for (int i = 0; i < many; ++i) {
      const size_t count = i % 3 == 0 ? 2 : i % 3 == 1 ? 300 : 5000;
      const size_t bytes = count * sizeof(affine);
      const auto at = static_cast<size_t>(i);
      own[at] = items_of(rank.rank(), count, i);
      results[at].resize(count);
      under_way.push_back(std::make_unique<allreduce>(
          rank.begin({operation_kind::allreduce, -1, bytes}),
          reduction{own[at].data(), results[at].data(), bytes, sizeof(affine), compose}));
    }
    base::backoff backoff;
    // From the last one on, unlike the order of the calls.
    while (!under_way.empty()) {
      for (size_t i = under_way.size(); i-- > 0;) {
        if (under_way[i]->advance()) {
          under_way.erase(under_way.begin() + static_cast<ptrdiff_t>(i));
        }
      }
      backoff.idle();
    }
    for (int i = 0; i < many; ++i) {
      const auto at = static_cast<size_t>(i);
      ASSERT_EQ(results[at], combined(rank.size(), own[at].size(), i)) << i;
    }
  });
}

// One object, started again after each end: its data in the line, in the area and in memory.
TEST_P(Operations, AnOperationIsCarriedOutAgain) {
  run([](test_rank& rank) {
    for (const size_t count : counts) {
      const size_t bytes = count * sizeof(affine);
      std::vector<affine> in(count), out(count);
      const ticket later{&rank.own_arena(), 0, 0};
      allreduce sum(later, {in.data(), out.data(), bytes, sizeof(affine), compose});
      scan in_place(later, {out.data(), out.data(), bytes, sizeof(affine), compose},
                    scan_kind::inclusive);
      broadcast from_first(later, out.data(), bytes, 0);
      for (int round = 0; round < 4; ++round) {
        const auto run = [&](operation* each, operation_kind kind) {
          const ticket now = rank.begin({kind, -1, bytes});
          each->restart(now.number, now.hash);
          test_rank::run(each);
          each->end();
        };
        const std::vector<affine> own = items_of(rank.rank(), count, round);
        std::copy(own.begin(), own.end(), in.begin());
        run(&sum, operation_kind::allreduce);
        ASSERT_EQ(out, combined(rank.size(), count, round));
        std::copy(own.begin(), own.end(), out.begin());
        run(&in_place, operation_kind::scan);
        ASSERT_EQ(out, combined(rank.rank() + 1, count, round));
        std::copy(own.begin(), own.end(), out.begin());
        run(&from_first, operation_kind::broadcast);
        ASSERT_EQ(out, items_of(0, count, round));
      }
    }
  });
}

}  // namespace
}  // namespace lci::coll
