// Groups of ranks: their members, collective operations among them, in parallel and from several
// threads, and the failures that end them.
#include "lci/runtime/instance/group.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "lci/api/lci.hpp"
#include "lci/runtime/instance/runtime.h"
#include "lci/testing/ranks/collectives.h"
#include "lci/testing/ranks/ranks.h"

namespace lci {
namespace {

using bytes = std::vector<unsigned char>;

class Groups : public Collectives {};
INSTANTIATE_TEST_SUITE_P(OneToNineRanks, Groups, testing::ValuesIn(one_to(9)));
INSTANTIATE_TEST_SUITE_P(SeventeenRanks, Groups, testing::Values(std::pair<int, int>(17, 17)));

group_t split(runtime_t runtime, int color, int key, group_t parent = group_t()) {
  return split_group_x(color, key).runtime(runtime).group(parent)();
}
void end(runtime_t runtime, group_t* group) { free_group_x(group).runtime(runtime)(); }

// The items of these ranks, combined in their order.
std::vector<affine> reduced_over(const std::vector<int>& ranks, size_t count) {
  std::vector<affine> all = items_of(ranks.front(), count);
  for (size_t r = 1; r < ranks.size(); ++r) {
    const auto next = items_of(ranks[r], count);
    compose(all.data(), next.data(), all.data(), count);
  }
  return all;
}

// Every operation, in a group whose ranks are `ranks`. call(op) carries it out.
template <class Call>
void use(group_t group, const std::vector<int>& ranks, const Call& call) {
  const int n = get_rank_n(group);
  const int me = get_rank_me(group);
  ASSERT_EQ(static_cast<size_t>(n), ranks.size());
  const int rank = get_rank_of_group(group, me);
  for (int place = 0; place < n; ++place) {
    ASSERT_EQ(get_rank_of_group(group, place), ranks[static_cast<size_t>(place)]);
    ASSERT_EQ(get_rank_in_group(group, ranks[static_cast<size_t>(place)]), place);
  }
  call(barrier_x().group(group));
  for (const size_t size : {size_t{5}, size_t{3000}, size_t{60000}}) {
    if (size > greatest_size()) continue;
    const int root = n - 1;
    bytes blocks;
    for (const int each : ranks) {
      const bytes theirs = make_message(each, 1, size);
      blocks.insert(blocks.end(), theirs.begin(), theirs.end());
    }
    const bytes own = make_message(rank, 1, size);
    bytes buffer = own;
    call(broadcast_x(buffer.data(), size, root).group(group));
    ASSERT_EQ(buffer, make_message(ranks.back(), 1, size));
    bytes all(blocks.size());
    call(allgather_x(own.data(), all.data(), size).group(group));
    ASSERT_EQ(all, blocks);
    all.assign(blocks.size(), 0);
    call(gather_x(own.data(), all.data(), size, root).group(group));
    if (me == root) {
      ASSERT_EQ(all, blocks);
    }
    buffer.assign(size, 0);
    call(scatter_x(blocks.data(), buffer.data(), size, root).group(group));
    ASSERT_EQ(buffer, own);
    const std::vector<size_t> sizes(static_cast<size_t>(n), size);
    all.assign(blocks.size(), 0);
    call(allgatherv_x(own.data(), all.data(), sizes.data()).group(group));
    ASSERT_EQ(all, blocks);
    // Each rank sends its own bytes to all.
    bytes repeated;
    for (int i = 0; i < n; ++i) repeated.insert(repeated.end(), own.begin(), own.end());
    all.assign(blocks.size(), 0);
    call(alltoall_x(repeated.data(), all.data(), size).group(group));
    ASSERT_EQ(all, blocks);
    all.assign(blocks.size(), 0);
    call(alltoallv_x(repeated.data(), sizes.data(), all.data(), sizes.data()).group(group));
    ASSERT_EQ(all, blocks);
  }
  for (const size_t count : {size_t{1}, size_t{300}, size_t{7000}}) {
    if (count * sizeof(affine) > greatest_size()) continue;
    const auto own = items_of(rank, count);
    const auto expected = reduced_over(ranks, count);
    std::vector<affine> out(count);
    call(allreduce_x(own.data(), out.data(), count, sizeof(affine), compose).group(group));
    ASSERT_EQ(out, expected);
    out.assign(count, affine{});
    call(reduce_x(own.data(), out.data(), count, sizeof(affine), compose, n / 2).group(group));
    if (me == n / 2) {
      ASSERT_EQ(out, expected);
    }
    out.assign(count, affine{});
    call(scan_x(own.data(), out.data(), count, sizeof(affine), compose).group(group));
    ASSERT_EQ(out, reduced_over({ranks.begin(), ranks.begin() + me + 1}, count));
  }
}

TEST_P(Groups, HaveEveryOperation) {
  run([](runtime_t runtime, const auto& call) {
    const int n = size_of(runtime);
    const int rank = rank_of(runtime);
    // Some ranks have one group more, so that ranks number the next one differently.
    group_t lower = split(runtime, rank < n / 2 ? 0 : -1, 0);
    // Those of the same remainder, from the last one to the first.
    const int colors = std::min(n, 3);
    group_t group = split(runtime, rank % colors, -rank);
    std::vector<int> ranks;
    for (int r = n - 1; r >= 0; --r) {
      if (r % colors == rank % colors) ranks.push_back(r);
    }
    use(group, ranks, call);
    end(runtime, &group);
    EXPECT_TRUE(group.is_empty());
    if (!lower.is_empty()) end(runtime, &lower);
  });
}

TEST_P(Groups, AreMadeOfLists) {
  run([](runtime_t runtime, const auto& call) {
    const int n = size_of(runtime);
    const int rank = rank_of(runtime);
    // Two groups at a time, in an order of their own, and a rank in none.
    std::vector<int> ranks;
    for (int r = 0; r < n - 1; ++r) {
      if ((r < n / 2) == (rank < n / 2)) ranks.push_back(r);
    }
    std::rotate(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(ranks.size() / 2),
                ranks.end());
    if (rank == n - 1) ranks.clear();
    group_t group = alloc_group_x(ranks.data(), ranks.size()).runtime(runtime)();
    ASSERT_EQ(group.is_empty(), ranks.empty());
    if (group.is_empty()) {
      EXPECT_EQ(group, GROUP_NULL);
      EXPECT_THROW(barrier_x().group(group)(), std::invalid_argument);
      EXPECT_THROW(alloc_group_x(nullptr, 0).group(group)(), std::invalid_argument);
      return;
    }
    EXPECT_EQ(get_rank_in_group(group, n - 1), -1);
    use(group, ranks, call);
    end(runtime, &group);
  });
}

TEST_P(Groups, AreMadeOfGroups) {
  run([](runtime_t runtime, const auto& call) {
    const int n = size_of(runtime);
    const int rank = rank_of(runtime);
    group_t reversed = split(runtime, 0, -rank);
    // The first half of the reversed ranks, and of these all but the first.
    const int half = (n + 1) / 2;
    const int place = get_rank_me(reversed);
    group_t first = split(runtime, place < half ? 7 : -1, place, reversed);
    ASSERT_EQ(first.is_empty(), place >= half);
    if (!first.is_empty()) {
      std::vector<int> list(static_cast<size_t>(place == 0 ? 0 : half - 1));
      std::iota(list.begin(), list.end(), 1);
      group_t inner = alloc_group_x(list.data(), list.size()).runtime(runtime).group(first)();
      ASSERT_EQ(inner.is_empty(), place == 0);
      if (!inner.is_empty()) {
        std::vector<int> ranks;
        for (int r = n - 2; r >= n - half; --r) ranks.push_back(r);
        use(inner, ranks, call);
        end(runtime, &inner);
      }
      end(runtime, &first);
    }
    end(runtime, &reversed);
  });
}

// A rank is in a group with each other rank; all operations are under way at a time, and each rank
// begins with another group.
TEST_P(Groups, AnyNumberIsUsedAtATime) {
  run_job(ranks(), [](runtime_t runtime) {
    const int n = size_of(runtime);
    const int rank = rank_of(runtime);
    std::vector<group_t> pairs;
    std::vector<int> others;
    for (int distance = 1; distance < n; ++distance) {
      // In the round of this sum, the ranks that add up to it are together.
      const int other = (distance - rank + 2 * n) % n;
      pairs.push_back(split(runtime, std::min(rank, other), rank));
      others.push_back(other);
    }
    comp_t counter = alloc_counter_x().runtime(runtime)();
    const auto rounds = less_if_simulated<size_t>(20, 2);
    std::vector<uint64_t> sums(pairs.size() * rounds);
    const auto own = static_cast<uint64_t>(rank) + 1;
    for (size_t k = 0; k < pairs.size(); ++k) {
      const size_t i = (k + static_cast<size_t>(rank)) % pairs.size();
      for (size_t round = 0; round < rounds; ++round) {
        allreduce_x(&own, &sums[i * rounds + round], 1, sizeof(own), reduce_sum<uint64_t>)
            .group(pairs[i])
            .comp(counter)
            .runtime(runtime)();
      }
    }
    barrier_x().runtime(runtime)();
    while (counter_get_x(counter).runtime(runtime)() < static_cast<int64_t>(sums.size())) {
      progress_x().runtime(runtime)();
    }
    for (size_t i = 0; i < sums.size(); ++i) {
      const int other = others[i / rounds];
      const uint64_t theirs = other == rank ? 0 : static_cast<uint64_t>(other) + 1;
      ASSERT_EQ(sums[i], own + theirs);
    }
    for (group_t& each : pairs) end(runtime, &each);
    free_comp_x{&counter}.runtime(runtime)();
  });
}

// Each thread has a group of its own, with the same threads of the other ranks.
TEST_P(Groups, ThreadsUseDifferentGroups) {
  run_job(ranks(), [](runtime_t runtime) {
    constexpr int threads = 3;
    std::vector<group_t> groups;
    for (int t = 0; t < threads; ++t) groups.push_back(split(runtime, 0, rank_of(runtime)));
    const auto rounds = less_if_simulated<uint64_t>(100, 5);
    const auto n = static_cast<uint64_t>(size_of(runtime));
    end_turns();
    std::vector<std::thread> running;
    for (const group_t group : groups) {
      running.emplace_back([group, runtime, rounds, n] {
        for (uint64_t round = 0; round < rounds; ++round) {
          const uint64_t own = round + static_cast<uint64_t>(get_rank_me(group));
          uint64_t sum = 0;
          allreduce_x(&own, &sum, 1, sizeof(own), reduce_sum<uint64_t>)
              .group(group)
              .runtime(runtime)();
          ASSERT_EQ(sum, n * round + n * (n - 1) / 2);
        }
        // Groups are also made concurrently.
        group_t inner = split(runtime, get_rank_me(group) % 2, 0, group);
        barrier_x().group(inner).runtime(runtime)();
        end(runtime, &inner);
      });
    }
    for (std::thread& each : running) each.join();
    for (group_t& each : groups) end(runtime, &each);
  });
}

TEST_P(Groups, AreMadeAndFreedManyTimes) {
  run_job(ranks(), [](runtime_t runtime) {
    const int rank = rank_of(runtime);
    for (int round = 0; round < less_if_simulated(100, 5); ++round) {
      group_t group = split(runtime, (rank + round) % 2, rank);
      const uint64_t own = 1;
      uint64_t sum = 0;
      allreduce_x(&own, &sum, 1, sizeof(own), reduce_sum<uint64_t>).group(group).runtime(runtime)();
      ASSERT_EQ(sum, static_cast<uint64_t>(get_rank_n(group)));
      end(runtime, &group);
    }
  });
}

// The host of each rank, by LCI_HOSTS ("0,0,1": numbers of one digit, repeated for all ranks).
std::vector<int> hosts_of(int ranks) {
  const char* const text = std::getenv("LCI_HOSTS");
  const std::string digits = text == nullptr ? "0" : text;
  std::vector<int> hosts;
  for (int r = 0; r < ranks; ++r) {
    hosts.push_back(digits[2 * static_cast<size_t>(r) % (digits.size() + 1)] - '0');
  }
  return hosts;
}

// In the job that LCI_HOSTS divides, as in one of a host.
TEST_P(Groups, ShareMemoryOnAHost) {
  run_job(ranks(), [](runtime_t runtime) {
    const int rank = rank_of(runtime);
    if (simulated()) return;
    const bool never = std::getenv("LCI_TEST_BACKEND") != nullptr;
    const std::vector<int> hosts = hosts_of(size_of(runtime));
    const auto host_of = [&hosts](int r) { return hosts[static_cast<size_t>(r)]; };
    group_t all = split(runtime, 0, rank);
    group_t here = split(runtime, host_of(rank), rank);
    bool is_one_host = true;
    bool is_all_apart = size_of(runtime) > 1;
    for (int r = 0; r < size_of(runtime); ++r) {
      if (host_of(r) != host_of(0)) is_one_host = false;
      for (int s = 0; s < r; ++s) {
        if (host_of(r) == host_of(s)) is_all_apart = false;
      }
    }
    // With each rank on a host of its own, the network between hosts is the only one.
    EXPECT_EQ(here.get_attr_shares_memory(), !never && !is_all_apart);
    EXPECT_EQ(all.get_attr_shares_memory(), !never && is_one_host);
    end(runtime, &here);
    end(runtime, &all);
  });
}

}  // namespace
}  // namespace lci
