// Every collective with every algorithm, any number of ranks, blocking and not.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "gtest/gtest.h"
#include "lci/api/lci.hpp"
#include "lci/runtime/instance/runtime.h"
#include "lci/testing/ranks/collectives.h"
#include "lci/testing/ranks/ranks.h"

namespace lci {
namespace {

INSTANTIATE_TEST_SUITE_P(OneToNineRanks, Collectives, testing::ValuesIn(one_to(9)));

const size_t sizes[] = {0, 1, 7, 1000, 8192, 8193, 300000};

TEST_P(Collectives, Broadcast) {
  run([](runtime_t runtime, const auto& call) {
    const int n = size_of(runtime);
    for (auto algorithm : {broadcast_algorithm_t::none, broadcast_algorithm_t::direct,
                           broadcast_algorithm_t::tree, broadcast_algorithm_t::ring}) {
      for (size_t size : sizes) {
        if (size > greatest_size()) continue;
        for (int root : {0, n / 2, n - 1}) {
          const auto expected = make_message(root, size, size);
          std::vector<unsigned char> buffer(size);
          if (rank_of(runtime) == root) buffer = expected;
          call(broadcast_x(buffer.data(), size, root).algorithm(algorithm));
          ASSERT_EQ(buffer, expected) << size << " bytes from " << root;
        }
      }
    }
    for (int steps : {1, 2, 17}) {
      std::vector<unsigned char> buffer = make_message(rank_of(runtime), 1, 1000);
      call(broadcast_x(buffer.data(), 1000, 0)
               .algorithm(broadcast_algorithm_t::ring)
               .ring_nsteps(steps));
      ASSERT_EQ(buffer, make_message(0, 1, 1000)) << steps << " steps";
    }
  });
}

const size_t counts[] = {0, 1, 3, 1000, 1025, 40000};

TEST_P(Collectives, Reduce) {
  run([](runtime_t runtime, const auto& call) {
    const int n = size_of(runtime);
    for (size_t count : counts) {
      if (count * sizeof(affine) > greatest_size()) continue;
      for (int root : {0, n / 2, n - 1}) {
        const auto mine = items_of(rank_of(runtime), count);
        std::vector<affine> out(rank_of(runtime) == root ? count : 0);
        call(reduce_x(mine.data(), out.data(), count, sizeof(affine), compose, root));
        if (rank_of(runtime) == root) {
          ASSERT_EQ(out, all_reduced(n, count)) << count;
        }
        ASSERT_EQ(mine, items_of(rank_of(runtime), count)) << "the send buffer changed";
        // In place.
        auto both = mine;
        call(reduce_x(both.data(), both.data(), count, sizeof(affine), compose, root));
        if (rank_of(runtime) == root) {
          ASSERT_EQ(both, all_reduced(n, count));
        }
      }
    }
  });
}

TEST_P(Collectives, Allreduce) {
  run([](runtime_t runtime, const auto& call) {
    const int n = size_of(runtime);
    for (auto algorithm : {allreduce_algorithm_t::none, allreduce_algorithm_t::direct,
                           allreduce_algorithm_t::tree, allreduce_algorithm_t::ring}) {
      for (size_t count : counts) {
        if (count * sizeof(affine) > greatest_size()) continue;
        const auto expected = all_reduced(n, count);
        const auto mine = items_of(rank_of(runtime), count);
        std::vector<affine> out(count);
        call(allreduce_x(mine.data(), out.data(), count, sizeof(affine), compose)
                 .algorithm(algorithm));
        ASSERT_EQ(out, expected) << count << " items, algorithm " << static_cast<int>(algorithm);
        ASSERT_EQ(mine, items_of(rank_of(runtime), count));
        auto both = mine;
        call(allreduce_x(both.data(), both.data(), count, sizeof(affine), compose)
                 .algorithm(algorithm)
                 .ring_nsteps(3));
        ASSERT_EQ(both, expected) << "in place";
      }
    }
  });
}

// Fewer items than ranks, or not many more, in an allreduce that is divided among the ranks.
TEST_P(Collectives, AllreduceOfLargeItems) {
  run([](runtime_t runtime, const auto& call) {
    constexpr size_t item = size_t{600} << 10;
    constexpr size_t words = item / sizeof(uint64_t);
    const reduce_op_t add_items = [](const void* left, const void* right, void* dst, size_t count) {
      for (size_t i = 0; i < count * words; ++i) {
        static_cast<uint64_t*>(dst)[i] =
            static_cast<const uint64_t*>(left)[i] + static_cast<const uint64_t*>(right)[i];
      }
    };
    const auto n = static_cast<uint64_t>(size_of(runtime));
    for (const size_t count : {size_t{1}, size_t{5}}) {
      if (count * item > greatest_size()) continue;
      std::vector<uint64_t> mine(count * words);
      for (size_t i = 0; i < mine.size(); ++i)
        mine[i] = i + static_cast<uint64_t>(rank_of(runtime));
      std::vector<uint64_t> out(mine.size());
      call(allreduce_x(mine.data(), out.data(), count, item, add_items));
      for (size_t i = 0; i < out.size(); ++i) {
        ASSERT_EQ(out[i], n * i + n * (n - 1) / 2) << "word " << i << " of " << count << " items";
      }
    }
  });
}

// Sums whose last bits depend on the brackets.
std::vector<double> numbers_of(int rank, size_t count) {
  std::vector<double> numbers(count);
  for (size_t i = 0; i < count; ++i) {
    numbers[i] = 1.0 / static_cast<double>(static_cast<size_t>(rank) * 7 + i % 1000 + 1);
  }
  return numbers;
}
// Of the ranks from 0 to before `ranks`.
std::vector<double> sums_from_the_right(int ranks, size_t count) {
  std::vector<double> sums = numbers_of(ranks - 1, count);
  for (int r = ranks - 2; r >= 0; --r) {
    const std::vector<double> left = numbers_of(r, count);
    for (size_t i = 0; i < count; ++i) sums[i] = left[i] + sums[i];
  }
  return sums;
}

// Whatever the networks and hosts, and each time.
TEST_P(Collectives, DeterministicReductionsGiveTheSameBytes) {
  run([](runtime_t runtime, const auto& call) {
    const int n = size_of(runtime);
    const int me = rank_of(runtime);
    for (const size_t each : {size_t{1}, size_t{9}, size_t{200}, size_t{1000}, size_t{20000}}) {
      const size_t count = each * static_cast<size_t>(n);
      if (count * sizeof(double) > greatest_size()) continue;
      const std::vector<double> mine = numbers_of(me, count);
      const std::vector<double> sums = sums_from_the_right(n, count);
      const auto begin = sums.begin() + static_cast<std::ptrdiff_t>(each) * me;
      const std::vector<double> block(begin, begin + static_cast<std::ptrdiff_t>(each));
      const std::vector<size_t> blocks(static_cast<size_t>(n), each);
      const auto expect = [&](auto operation, std::vector<double>* out,
                              const std::vector<double>& expected, const char* name) {
        call(operation.deterministic(true));
        ASSERT_EQ(*out, expected) << name << " of " << count << " numbers";
      };
      std::vector<double> out(count);
      expect(allreduce_x(mine.data(), out.data(), count, sizeof(double), reduce_sum<double>), &out,
             sums, "allreduce");
      out = mine;
      expect(allreduce_x(out.data(), out.data(), count, sizeof(double), reduce_sum<double>), &out,
             sums, "allreduce in place");
      out.assign(count, 0);
      const int root = n / 2;
      expect(reduce_x(mine.data(), out.data(), count, sizeof(double), reduce_sum<double>, root),
             &out, me == root ? sums : out, "reduce");
      out = mine;
      expect(scan_x(out.data(), out.data(), count, sizeof(double), reduce_sum<double>), &out,
             sums_from_the_right(me + 1, count), "scan");
      out = mine;
      expect(exscan_x(out.data(), out.data(), count, sizeof(double), reduce_sum<double>), &out,
             me == 0 ? mine : sums_from_the_right(me, count), "exscan");
      out.assign(each, 0);
      expect(reduce_scatter_x(mine.data(), out.data(), each, sizeof(double), reduce_sum<double>),
             &out, block, "reduce_scatter");
      out.assign(each, 0);
      expect(reduce_scatterv_x(mine.data(), out.data(), blocks.data(), sizeof(double),
                               reduce_sum<double>),
             &out, block, "reduce_scatterv");
    }
  });
}

TEST_P(Collectives, ReduceScatter) {
  run([](runtime_t runtime, const auto& call) {
    const int n = size_of(runtime);
    const auto rank = static_cast<size_t>(rank_of(runtime));
    for (auto algorithm : {reduce_scatter_algorithm_t::none, reduce_scatter_algorithm_t::direct,
                           reduce_scatter_algorithm_t::tree, reduce_scatter_algorithm_t::ring}) {
      for (size_t count :
           {size_t{0}, size_t{1}, size_t{3}, size_t{100}, size_t{1025}, size_t{5000}}) {
        const size_t all = count * static_cast<size_t>(n);
        if (all * sizeof(affine) > greatest_size()) continue;
        const auto result = all_reduced(n, all);
        const std::vector<affine> expected(
            result.begin() + static_cast<std::ptrdiff_t>(rank * count),
            result.begin() + static_cast<std::ptrdiff_t>((rank + 1) * count));
        auto mine = items_of(rank_of(runtime), all);
        std::vector<affine> out(count);
        call(reduce_scatter_x(mine.data(), out.data(), count, sizeof(affine), compose)
                 .algorithm(algorithm));
        ASSERT_EQ(out, expected) << count << " items, algorithm " << static_cast<int>(algorithm);
        ASSERT_EQ(mine, items_of(rank_of(runtime), all));
        call(reduce_scatter_x(mine.data(), mine.data() + rank * count, count, sizeof(affine),
                              compose)
                 .algorithm(algorithm));
        if (count > 0) {
          ASSERT_EQ(
              0, std::memcmp(mine.data() + rank * count, expected.data(), count * sizeof(affine)))
              << "in place";
        }
      }
    }
  });
}

TEST_P(Collectives, AllgatherAndAlltoall) {
  run([](runtime_t runtime, const auto& call) {
    const int n = size_of(runtime);
    for (size_t size : {size_t{0}, size_t{1}, size_t{1000}, size_t{9000}, size_t{200000}}) {
      if (size > greatest_size()) continue;
      const auto mine = make_message(rank_of(runtime), 1, size);
      std::vector<unsigned char> expected;
      for (int r = 0; r < n; ++r) {
        const auto theirs = make_message(r, 1, size);
        expected.insert(expected.end(), theirs.begin(), theirs.end());
      }
      std::vector<unsigned char> all(expected.size());
      call(allgather_x(mine.data(), all.data(), size));
      ASSERT_EQ(all, expected) << size;
      // In place.
      std::vector<unsigned char> place(expected.size());
      unsigned char* const own = place.data() + static_cast<size_t>(rank_of(runtime)) * size;
      std::copy(mine.begin(), mine.end(), own);
      call(allgather_x(own, place.data(), size));
      ASSERT_EQ(place, expected) << size;

      std::vector<unsigned char> out, in(expected.size());
      expected.clear();
      for (int r = 0; r < n; ++r) {
        const auto to = make_message(rank_of(runtime), static_cast<tag_t>(r) + 5, size);
        out.insert(out.end(), to.begin(), to.end());
        const auto from = make_message(r, static_cast<tag_t>(rank_of(runtime)) + 5, size);
        expected.insert(expected.end(), from.begin(), from.end());
      }
      call(alltoall_x(out.data(), in.data(), size));
      ASSERT_EQ(in, expected) << size;
    }
  });
}

// Nobody leaves a barrier before all are in it.
TEST_P(Collectives, Barrier) {
  std::atomic<int> entered{0};
  std::atomic<int> rounds{0};
  run([&](runtime_t runtime, const auto& call) {
    const int n = size_of(runtime);
    for (int i = 0; i < less_if_simulated(20, 3); ++i) {
      // Each round begins with as many entries as all rounds before it had.
      const int before = rounds.load() * n;
      call(barrier_x());
      entered.fetch_add(1);
      call(barrier_x());
      EXPECT_GE(entered.load(), before + n);
      call(barrier_x());
      if (rank_of(runtime) == 0) rounds.fetch_add(1);
      call(barrier_x());
    }
  });
}

TEST_P(Collectives, SeveralAtOnceOnSeveralEngines) {
  run_job(ranks(), [](runtime_t runtime) {
    constexpr size_t engines = 4;
    const auto each = less_if_simulated<size_t>(5, 2);
    const auto items = less_if_simulated<size_t>(2000, 1100);
    const int n = size_of(runtime);
    std::vector<matching_engine_t> matching(engines);
    for (size_t e = 0; e < engines; ++e) {
      matching[e] = alloc_matching_engine_x()
                        .matching_engine_type(e % 2 == 0 ? attr_matching_engine_type_t::map
                                                         : attr_matching_engine_type_t::queue)
                        .runtime(runtime)();
    }
    barrier_x().runtime(runtime)();
    comp_t counter = alloc_counter_x().runtime(runtime)();
    std::vector<std::vector<affine>> out(engines * each, std::vector<affine>(items));
    const auto mine = items_of(rank_of(runtime), items);
    // Each rank begins with another engine: only the order within one counts.
    for (size_t k = 0; k < engines; ++k) {
      const size_t e = (k + static_cast<size_t>(rank_of(runtime))) % engines;
      for (size_t i = 0; i < each; ++i) {
        allreduce_x(mine.data(), out[e * each + i].data(), items, sizeof(affine), compose)
            .matching_engine(matching[e])
            .algorithm(i % 2 == 0 ? allreduce_algorithm_t::tree : allreduce_algorithm_t::direct)
            .comp(counter)
            .runtime(runtime)();
      }
    }
    // Sends and receives of any tag do not match their messages.
    uint64_t value = 5;
    uint64_t got = 0;
    const int to = (rank_of(runtime) + 1) % n;
    const int from = (rank_of(runtime) + n - 1) % n;
    static_cast<void>(
        post_send_x(to, &value, 8, 0, COMP_NULL).matching_engine(matching[0]).runtime(runtime)());
    static_cast<void>(
        post_recv_x(from, &got, 8, 0, COMP_NULL).matching_engine(matching[0]).runtime(runtime)());
    EXPECT_EQ(got, 5u);
    while (counter_get_x(counter).runtime(runtime)() < static_cast<int64_t>(engines * each)) {
      progress_x().runtime(runtime)();
    }
    const auto expected = all_reduced(n, items);
    for (const auto& result : out) EXPECT_EQ(result, expected);
    barrier_x().runtime(runtime)();
    for (auto& engine : matching) free_matching_engine_x{&engine}.runtime(runtime)();
    free_comp_x{&counter}.runtime(runtime)();
  });
}

TEST(CollectivesOnce, SixtyFourMiB) {
  if (simulated()) GTEST_SKIP() << "in pieces of 100 bytes it would take minutes";
  run_job(2, [](runtime_t runtime) {
    constexpr size_t size = size_t{64} << 20;
    constexpr size_t count = size / sizeof(uint64_t);
    std::vector<uint64_t> mine(count), out(count);
    for (size_t i = 0; i < count; ++i) mine[i] = i * static_cast<uint64_t>(rank_of(runtime) + 1);
    const reduce_op_t add = [](const void* left, const void* right, void* dst, size_t n) {
      for (size_t i = 0; i < n; ++i) {
        static_cast<uint64_t*>(dst)[i] =
            static_cast<const uint64_t*>(left)[i] + static_cast<const uint64_t*>(right)[i];
      }
    };
    for (auto algorithm : {allreduce_algorithm_t::direct, allreduce_algorithm_t::tree,
                           allreduce_algorithm_t::ring}) {
      allreduce_x(mine.data(), out.data(), count, 8, add).algorithm(algorithm).runtime(runtime)();
      for (size_t i = 0; i < count; ++i) ASSERT_EQ(out[i], 3 * i);
    }
    for (auto algorithm : {broadcast_algorithm_t::direct, broadcast_algorithm_t::tree,
                           broadcast_algorithm_t::ring}) {
      if (rank_of(runtime) == 1) out = mine;
      broadcast_x(out.data(), size, 1).algorithm(algorithm).runtime(runtime)();
      for (size_t i = 0; i < count; ++i) ASSERT_EQ(out[i], 2 * i);
      out.assign(count, 0);
    }
    alltoall_x(mine.data(), out.data(), size / 2).runtime(runtime)();
    const size_t half = count / 2;
    const size_t first = static_cast<size_t>(rank_of(runtime)) * half;
    for (size_t i = 0; i < half; ++i) {
      ASSERT_EQ(out[i], first + i);
      ASSERT_EQ(out[half + i], 2 * (first + i));
    }
  });
}

TEST(CollectivesOnce, MistakesAreNamed) {
  run_job(1, [](runtime_t runtime) {
    uint64_t a = 0, b = 0;
    EXPECT_THROW(broadcast_x(&a, 8, 1).runtime(runtime)(), std::invalid_argument);
    EXPECT_THROW(broadcast_x(nullptr, 8, 0).runtime(runtime)(), std::invalid_argument);
    EXPECT_THROW(broadcast_x(&a, 8, 0).ring_nsteps(-1).runtime(runtime)(), std::invalid_argument);
    EXPECT_THROW(allreduce_x(&a, &b, 1, 8, nullptr).runtime(runtime)(), std::invalid_argument);
    EXPECT_THROW(allreduce_x(&a, &b, ~size_t{0}, 8, compose).runtime(runtime)(),
                 std::invalid_argument);
    EXPECT_THROW(reduce_x(&a, &b, 1, 8, compose, -1).runtime(runtime)(), std::invalid_argument);
    EXPECT_THROW(reduce_x(&a, nullptr, 1, 8, compose, 0).runtime(runtime)(), std::invalid_argument);
    EXPECT_THROW(allgather_x(nullptr, &b, 8).runtime(runtime)(), std::invalid_argument);
    EXPECT_THROW(alltoall_x(&a, nullptr, 8).runtime(runtime)(), std::invalid_argument);
    EXPECT_THROW(barrier_x().comp(COMP_NULL_RETRY).runtime(runtime)(), std::invalid_argument);
    // As a negative size is.
    const size_t negative = static_cast<size_t>(-1);
    EXPECT_EQ(error_of([&] { broadcast_x(&a, negative, 0).runtime(runtime)(); }),
              "lci: broadcast: buffer has 18446744073709551615 bytes, more than the address space");
    EXPECT_THROW(allgather_x(&a, &b, negative).runtime(runtime)(), std::invalid_argument);
    EXPECT_THROW(alltoall_x(&a, &b, negative).runtime(runtime)(), std::invalid_argument);
    EXPECT_THROW(gather_x(&a, &b, negative, 0).runtime(runtime)(), std::invalid_argument);
    EXPECT_THROW(allreduce_x(&a, &b, negative, 1, compose).runtime(runtime)(),
                 std::invalid_argument);
    barrier_x().runtime(runtime)();
  });
}

}  // namespace
}  // namespace lci
