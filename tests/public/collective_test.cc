// Barrier, allgather and allreduce between processes, over several lives of the runtime.
#include <algorithm>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "lci.hpp"
#include "tests/public/check.h"

namespace {

void maximum(const void* left, const void* right, void* dst, size_t n) {
  const auto* l = static_cast<const int64_t*>(left);
  const auto* r = static_cast<const int64_t*>(right);
  auto* d = static_cast<int64_t*>(dst);
  for (size_t i = 0; i < n; ++i) d[i] = std::max(l[i], r[i]);
}

void round(int life) {
  const int rank = lci::get_rank_me();
  const int ranks = lci::get_rank_n();
  for (size_t count : {size_t{1}, size_t{100}, size_t{200000}}) {
    std::vector<int64_t> mine(count);
    for (size_t i = 0; i < count; ++i) mine[i] = static_cast<int64_t>(i) * 10 + rank + life;
    std::vector<int64_t> all(count * static_cast<size_t>(ranks));
    lci::allgather(mine.data(), all.data(), count * sizeof(int64_t));
    for (int r = 0; r < ranks; ++r) {
      for (size_t i = 0; i < count; ++i) {
        EXPECT(all[static_cast<size_t>(r) * count + i] == static_cast<int64_t>(i) * 10 + r + life);
      }
    }
    std::vector<int64_t> largest(count);
    lci::allreduce(mine.data(), largest.data(), count, sizeof(int64_t), maximum);
    for (size_t i = 0; i < count; ++i) {
      EXPECT(largest[i] == static_cast<int64_t>(i) * 10 + ranks - 1 + life);
    }
    lci::barrier();
  }
}

// Blocks of rank + 1 items, and the ready-made operators.
void blocks() {
  const auto rank = static_cast<size_t>(lci::get_rank_me());
  const auto ranks = static_cast<size_t>(lci::get_rank_n());
  const uint64_t own = rank + 1;
  std::vector<uint64_t> all(ranks);
  lci::gather(&own, all.data(), sizeof(own), 0);
  for (size_t r = 0; rank == 0 && r < ranks; ++r) EXPECT(all[r] == r + 1);
  uint64_t back = 0;
  lci::scatter(all.data(), &back, sizeof(back), 0);
  EXPECT(back == own);

  uint64_t sum = 0;
  lci::scan(&own, &sum, 1, sizeof(sum), lci::reduce_sum<uint64_t>);
  EXPECT(sum == own * (own + 1) / 2);
  uint64_t before = 7;
  lci::exscan(&own, &before, 1, sizeof(before), lci::reduce_sum<uint64_t>);
  EXPECT(before == (rank == 0 ? 7 : sum - own));
  uint64_t product = 0;
  lci::allreduce(&own, &product, 1, sizeof(product), lci::reduce_prod<uint64_t>);
  for (uint64_t r = ranks; r > 0; --r) product /= r;
  EXPECT(product == 1);

  std::vector<size_t> sizes;
  std::vector<size_t> equal(ranks, own * sizeof(uint64_t));
  std::vector<size_t> counts;
  size_t items = 0;
  for (size_t r = 0; r < ranks; ++r) {
    counts.push_back(r + 1);
    sizes.push_back((r + 1) * sizeof(uint64_t));
    items += r + 1;
  }
  const std::vector<uint64_t> mine(own, own);
  std::vector<uint64_t> gathered(items);
  lci::allgatherv(mine.data(), gathered.data(), sizes.data());
  for (size_t r = 0, i = 0; r < ranks; ++r) {
    for (size_t k = 0; k <= r; ++k, ++i) EXPECT(gathered[i] == r + 1);
  }
  // Rank s sends s + 1 items to each, which are its number.
  const std::vector<uint64_t> sent(ranks * own, own);
  std::vector<uint64_t> received(items);
  lci::alltoallv(sent.data(), equal.data(), received.data(), sizes.data());
  EXPECT(received == gathered);
  std::vector<uint64_t> largest(own);
  lci::reduce_scatterv(gathered.data(), largest.data(), counts.data(), sizeof(uint64_t),
                       lci::reduce_max<uint64_t>);
  EXPECT(largest == mine);
}

// Two items for each rank, which are far from each other where they arrive; and every second item.
void layouts() {
  const auto ranks = static_cast<size_t>(lci::get_rank_n());
  const auto me = static_cast<uint64_t>(lci::get_rank_me());
  const size_t item = sizeof(uint64_t);
  std::vector<uint64_t> row, column(2 * ranks), expected(2 * ranks);
  std::vector<lci::layout_t> apart(ranks), kept(ranks);
  for (size_t r = 0; r < ranks; ++r) {
    row.push_back(100 * me + r);
    row.push_back(1000 + 100 * me + r);
    expected[r] = 100 * r + me;
    expected[ranks + r] = 1000 + 100 * r + me;
    kept[r] = {2 * r * item, 2 * item, 1, 0, 1, 0};
    apart[r] = {r * item, item, 2, ranks * item, 1, 0};
  }
  lci::alltoall_x(row.data(), column.data(), 2 * item)
      .sendlayouts(kept.data())
      .recvlayouts(apart.data())();
  EXPECT(column == expected);
  const lci::layout_t half{0, item, ranks, 2 * item, 1, 0};
  std::vector<uint64_t> all(ranks * ranks);
  lci::allgather_x(row.data(), all.data(), ranks * item).sendlayout (&half)();
  for (size_t i = 0; i < all.size(); ++i) EXPECT(all[i] == 100 * (i / ranks) + i % ranks);
  lci::broadcast_x(row.data(), ranks * item, 0).layout (&half)();
  for (size_t r = 0; r < ranks; ++r) {
    EXPECT(row[2 * r] == r);
    EXPECT(row[2 * r + 1] == 1000 + 100 * me + r);
  }
  std::vector<uint64_t> parts(2 * ranks);
  std::vector<lci::layout_t> spread(ranks);
  for (size_t r = 0; r < ranks; ++r) spread[r] = {2 * r * item, item, 1, 0, 1, 0};
  lci::gather_x(&me, parts.data(), item, 0).recvlayouts(spread.data())();
  uint64_t own[2] = {77, 77};
  const lci::layout_t second{item, item, 1, 0, 1, 0};
  lci::scatter_x(parts.data(), own, item, 0).sendlayouts(spread.data()).recvlayout (&second)();
  EXPECT(own[0] == 77 && own[1] == me);
}

// The even ranks and the odd ones, from the last to the first; and without rank 0.
void groups() {
  const int rank = lci::get_rank_me();
  const int ranks = lci::get_rank_n();
  lci::group_t group = lci::split_group(rank % 2, -rank);
  const int n = lci::get_rank_n(group);
  EXPECT(n == (ranks + 1 - rank % 2) / 2);
  EXPECT(lci::get_rank_of_group(group, lci::get_rank_me(group)) == rank);
  EXPECT(lci::get_rank_in_group(group, rank) == n - 1 - rank / 2);
  EXPECT(lci::get_rank_in_group(group, rank + 1) == -1);
  for (size_t count : {size_t{1}, size_t{1000}, size_t{100000}}) {
    const std::vector<int64_t> own(count, rank);
    std::vector<int64_t> sums(count);
    lci::allreduce_x(own.data(), sums.data(), count, sizeof(int64_t), lci::reduce_sum<int64_t>)
        .group(group)();
    EXPECT(sums == std::vector<int64_t>(count, int64_t{n} * (n - 1) + n * (rank % 2)));
  }
  std::vector<int> list;
  for (int r = 1; rank > 0 && r < ranks; ++r) list.push_back(r);
  lci::group_t others = lci::alloc_group(list.data(), list.size());
  EXPECT(others.is_empty() == (rank == 0));
  if (!others.is_empty()) {
    int first = rank;
    lci::broadcast_x(&first, sizeof(first), 0).group(others)();
    EXPECT(first == 1);
    lci::free_group(&others);
  }
  lci::free_group(&group);
  EXPECT(group.is_empty());
}

// Recorded once and started often, blocking and with a completion object, of all ranks and of
// groups.
void persistent() {
  const int rank = lci::get_rank_me();
  const int ranks = lci::get_rank_n();
  lci::group_t group = lci::split_group(rank % 2, rank);
  lci::comp_t finished = lci::alloc_sync();
  for (size_t count : {size_t{1}, size_t{1000}, size_t{100000}}) {
    std::vector<int64_t> own(count), sums(count), largest(count);
    lci::persistent_coll_t sum = lci::alloc_persistent_coll(
        lci::allreduce_x(own.data(), sums.data(), count, sizeof(int64_t), lci::reduce_sum<int64_t>)
            .comp(finished));
    lci::persistent_coll_t max =
        lci::alloc_persistent_coll_x(lci::allreduce_x(own.data(), largest.data(), count,
                                                      sizeof(int64_t), lci::reduce_max<int64_t>)
                                         .group(group))
            .name("max")();
    EXPECT(std::string(max.get_attr_name()) == "max" && !sum.is_empty());
    for (int64_t round = 0; round < 10; ++round) {
      own.assign(count, rank + round);
      lci::persistent_coll_start(sum);
      lci::status_t status;
      lci::sync_wait(finished, &status);
      EXPECT(status.is_done());
      EXPECT(sums == std::vector<int64_t>(count, ranks * (ranks - 1) / 2 + ranks * round));
      lci::persistent_coll_start(max);
      const int last = (ranks - 1) % 2 == rank % 2 ? ranks - 1 : ranks - 2;
      EXPECT(largest == std::vector<int64_t>(count, last + round));
    }
    lci::free_persistent_coll(&sum);
    lci::free_persistent_coll(&max);
    EXPECT(sum.is_empty() && max.is_empty());
  }
  lci::free_comp(&finished);
  lci::free_group(&group);
}

// As many operations of a size as it takes the library to try another way for their data, and to
// choose one, each with other data.
void repeated() {
  const auto rank = static_cast<size_t>(lci::get_rank_me());
  const auto ranks = static_cast<size_t>(lci::get_rank_n());
  constexpr size_t count = 3000;
  constexpr size_t bytes = count * sizeof(uint64_t);
  std::vector<uint64_t> mine(count * ranks);
  std::vector<uint64_t> all(count * ranks);
  std::vector<uint64_t> sums(count);
  const auto content = [](size_t of_rank, size_t round, size_t i) {
    return 1000000 * of_rank + 10000 * round + i;
  };
  lci::comp_t finished = lci::alloc_sync();
  lci::persistent_coll_t sum = lci::alloc_persistent_coll(
      lci::allreduce_x(sums.data(), sums.data(), count, sizeof(uint64_t), lci::reduce_sum<uint64_t>)
          .comp(finished));
  for (size_t round = 0; round < 120; ++round) {
    for (size_t i = 0; i < mine.size(); ++i) mine[i] = content(rank, round, i);
    std::copy_n(mine.begin(), count, sums.begin());
    lci::persistent_coll_start(sum);
    // Meanwhile, as operations may overlap.
    lci::alltoall(mine.data(), all.data(), bytes);
    lci::sync_wait(finished, nullptr);
    for (size_t i = 0; i < count; ++i) {
      uint64_t expected = 0;
      for (size_t r = 0; r < ranks; ++r) {
        EXPECT(all[r * count + i] == content(r, round, rank * count + i));
        expected += content(r, round, i);
      }
      EXPECT(sums[i] == expected);
    }
    const size_t root = round % ranks;
    lci::broadcast(mine.data(), bytes, static_cast<int>(root));
    for (size_t i = 0; i < count; ++i) EXPECT(mine[i] == content(root, round, i));
    lci::allgather_x(sums.data(), all.data(), bytes).comp(finished)();
    lci::sync_wait(finished, nullptr);
    for (size_t r = 0; r < ranks; ++r) {
      EXPECT(std::equal(sums.begin(), sums.end(), all.data() + r * count));
    }
  }
  lci::free_persistent_coll(&sum);
  lci::free_comp(&finished);
}

// Every thread of every rank takes part.
void teams() {
  const int rank = lci::get_rank_me();
  const size_t own = 1 + static_cast<size_t>(rank) % 3;
  lci::thread_team_t team = lci::alloc_thread_team_x(own).name("workers")();
  const size_t all = lci::get_thread_n(team);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < own; ++t) {
    threads.emplace_back([team, t, all] {
      const size_t me = lci::get_thread_me(team, t);
      for (size_t count : {size_t{1}, size_t{1000}, size_t{100000}}) {
        const std::vector<uint64_t> mine(count, me);
        std::vector<uint64_t> sums(count);
        lci::allreduce_x(mine.data(), sums.data(), count, sizeof(uint64_t),
                         lci::reduce_sum<uint64_t>)
            .thread_team(team)
            .thread(t)();
        EXPECT(sums == std::vector<uint64_t>(count, all * (all - 1) / 2));
        lci::reduce_x(mine.data(), sums.data(), count, sizeof(uint64_t), lci::reduce_max<uint64_t>,
                      static_cast<int>(all) - 1)
            .thread_team(team)
            .thread(t)();
        if (me == all - 1) EXPECT(sums == mine);
        lci::broadcast_x(sums.data(), count * sizeof(uint64_t), static_cast<int>(all) - 1)
            .thread_team(team)
            .thread(t)();
        EXPECT(sums == std::vector<uint64_t>(count, all - 1));
      }
      lci::barrier_x().thread_team(team).thread(t)();
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT(team.get_attr_nthreads() == own);
  lci::free_thread_team(&team);
  EXPECT(team.is_empty());
}

void body() {
  for (int life = 0; life < 3; ++life) {
    lci::g_runtime_init();
    EXPECT(!lci::get_g_runtime().is_empty());
    round(life);
    blocks();
    teams();
    layouts();
    groups();
    persistent();
    if (life == 0) repeated();
    // A second runtime in addition to the global one.
    lci::runtime_t other = lci::alloc_runtime_x().name("other")();
    lci::barrier_x().runtime(other)();
    lci::free_runtime(&other);
    EXPECT(other.is_empty());
    lci::g_runtime_fina();
    EXPECT(lci::get_g_runtime().is_empty());
  }
}

}  // namespace

int main() { return run_test(body); }
