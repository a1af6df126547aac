// The runtime over a network that refuses, delays, reorders and loses a rank.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lci/api/lci.hpp"
#include "lci/net/sim/backend.h"
#include "lci/runtime/instance/runtime.h"
#include "lci/testing/ranks/ranks.h"

namespace lci {
namespace {

uint64_t seed() { return std::strtoull(std::getenv("LCI_SIM_SEED"), nullptr, 10); }

constexpr size_t sizes[] = {0, 1, 40, 64, 65, 900, 1000, 1001, 8192, 8193, 30000};

// Of message number `n` of a pair of ranks.
size_t size_of_message(int from, int to, size_t n) {
  return sizes[(n * 5 + static_cast<size_t>(from) * 3 + static_cast<size_t>(to)) % 11];
}

// Every rank sends messages of all kinds to every rank, with retries and with the backlog; all
// arrive, once, with their bytes. The network's trace() of it.
uint64_t send_everything_to_everybody(size_t rounds) {
  constexpr int ranks = 3;
  uint64_t trace = 0;
  run_job(ranks, [&trace, rounds](runtime_t runtime) {
    const int rank = rank_of(runtime);
    uint64_t random = seed() * 31 + static_cast<uint64_t>(rank);
    const auto pick = [&random](size_t n) { return net::sim::next_random(&random) % n; };
    comp_t inbox = alloc_cq_x().runtime(runtime)();
    comp_t done = alloc_counter_x().runtime(runtime)();
    const rcomp_t rcomp = register_rcomp_x(inbox).runtime(runtime)();
    std::vector<unsigned char> open(rounds * ranks, 0);
    mr_t mr = register_memory_x(open.data(), open.size()).runtime(runtime)();
    std::vector<rmr_t> rmrs(ranks);
    const rmr_t own = get_rmr_x(mr).runtime(runtime)();
    allgather_x(&own, rmrs.data(), sizeof(own)).runtime(runtime)();

    int64_t expected_done = 0;
    const auto settle = [&](auto op) {
      op.runtime(runtime).allow_retry(pick(2) == 0);
      status_t status;
      while ((status = op()).is_retry()) progress_x().runtime(runtime)();
      if (status.is_posted()) ++expected_done;
    };
    std::vector<std::vector<unsigned char>> buffers;
    const auto keep = [&buffers](std::vector<unsigned char> bytes) -> std::vector<unsigned char>& {
      buffers.push_back(std::move(bytes));
      return buffers.back();
    };
    buffers.reserve(4 * rounds * ranks);
    // A receive for every message that is sent, half of them before.
    std::vector<size_t> order;
    for (size_t i = 0; i < rounds * ranks; ++i) order.push_back(i);
    std::vector<std::vector<unsigned char>*> rooms;
    const auto receive = [&](size_t i) {
      const int from = static_cast<int>(i % ranks);
      auto& room = keep(std::vector<unsigned char>(30000));
      rooms.push_back(&room);
      settle(post_recv_x(from, room.data(), room.size(), i / ranks, done));
    };
    for (size_t i = 0; i < order.size() / 2; ++i) receive(i);
    for (size_t round = 0; round < rounds; ++round) {
      for (int to = 0; to < ranks; ++to) {
        auto& bytes = keep(make_message(rank, round, size_of_message(rank, to, round)));
        settle(post_send_x(to, bytes.data(), bytes.size(), round, done));
        auto& more = keep(make_message(rank, round, size_of_message(rank, to, round + 1)));
        settle(post_am_x(to, more.data(), more.size(), done, rcomp).tag(round));
        auto& byte = keep({static_cast<unsigned char>(round + 1)});
        settle(post_put_x(to, byte.data(), 1, done, round * ranks + static_cast<size_t>(rank),
                          rmrs[static_cast<size_t>(to)]));
      }
    }
    for (size_t i = order.size() / 2; i < order.size(); ++i) receive(i);

    std::vector<int> seen(rounds * ranks, 0);
    for (size_t count = 0; count < rounds * ranks;) {
      progress_x().runtime(runtime)();
      const status_t came = cq_pop_x(inbox).runtime(runtime)();
      if (came.is_retry()) continue;
      ++count;
      ++seen[came.tag * ranks + static_cast<size_t>(came.rank)];
      EXPECT_EQ(came.size, size_of_message(came.rank, rank, came.tag + 1));
      const auto bytes = make_message(came.rank, came.tag, came.size);
      EXPECT_TRUE(came.size == 0 || std::memcmp(came.buffer, bytes.data(), came.size) == 0);
      std::free(came.buffer);
    }
    EXPECT_EQ(seen, std::vector<int>(rounds * ranks, 1));
    while (counter_get_x(done).runtime(runtime)() < expected_done) progress_x().runtime(runtime)();
    EXPECT_EQ(counter_get_x(done).runtime(runtime)(), expected_done);
    for (size_t i = 0; i < rooms.size(); ++i) {
      const int from = static_cast<int>(i % ranks);
      const tag_t tag = i / ranks;
      auto expected = make_message(from, tag, size_of_message(from, rank, tag));
      expected.resize(30000);
      EXPECT_TRUE(*rooms[i] == expected) << "message " << tag << " of rank " << from;
    }
    wait_drained_x().runtime(runtime)();
    barrier_x().runtime(runtime)();
    for (size_t i = 0; i < open.size(); ++i) EXPECT_EQ(open[i], i / ranks + 1);
    deregister_memory_x{&mr}.runtime(runtime)();
    free_comp_x{&inbox}.runtime(runtime)();
    free_comp_x{&done}.runtime(runtime)();
    if (rank == 0) {
      trace = net::sim::fabric_of(*runtime.p_impl->default_net_context()->net)->trace();
    }
  });
  return trace;
}

TEST(SimStress, EverythingArrivesOnce) { EXPECT_NE(send_everything_to_everybody(30), 0u); }

TEST(SimStress, ASeedReplaysExactly) {
  const uint64_t trace = send_everything_to_everybody(5);
  EXPECT_EQ(send_everything_to_everybody(5), trace);
  const std::string own = std::getenv("LCI_SIM_SEED");
  setenv("LCI_SIM_SEED", std::to_string(seed() + 1).c_str(), 1);
  EXPECT_NE(send_everything_to_everybody(5), trace);
  setenv("LCI_SIM_SEED", own.c_str(), 1);
}

// A rank is lost in the middle of sends, receives, rendezvous and collectives. The others learn of
// it, every operation of theirs ends, and they continue with each other.
TEST(SimStress, ALostRankEndsWhatNeedsItAndNothingElse) {
  constexpr int ranks = 3;
  static constexpr int victim = 1;
  run_ranks(ranks, [](std::unique_ptr<boot::bootstrap> own) {
    global_attr_t defaults;
    defaults.backend = attr_backend_t::sim;
    // The remaining operations of the lost rank end with its runtime: these objects outlive it.
    struct counter : comp_impl_t {
      void signal(status_t) override { ++count; }
      std::atomic<int64_t> count{0};
    };
    std::vector<unsigned char> out(20000, 1);
    std::vector<std::vector<unsigned char>> rooms(12, std::vector<unsigned char>(20000));
    counter ended_count, collective_count;
    const comp_t ended(&ended_count), collective(&collective_count);
    // Not on the stack, which the address sanitizer aligns for less than it needs.
    const auto impl = std::make_unique<runtime_impl_t>(std::move(own), runtime_attr_t(), defaults);
    const runtime_t runtime(impl.get());
    const int rank = impl->rank();
    uint64_t random = seed() * 17 + static_cast<uint64_t>(rank);
    int64_t posted = 0;
    int failures = 0;
    const auto progress = [&] {
      try {
        progress_x().runtime(runtime)();
      } catch (const peer_failure_error& error) {
        EXPECT_EQ(error.failed_rank(), int{victim});
        ++failures;
      }
    };
    const auto settle = [&](auto op) {
      for (;;) {
        try {
          const status_t status = op.runtime(runtime)();
          if (status.is_posted()) ++posted;
          if (!status.is_retry()) return;
        } catch (const peer_failure_error&) {
          return;
        }
        progress();
      }
    };
    const uint64_t last_word = net::sim::next_random(&random) % 40;
    allreduce_x(
        out.data(), rooms[11].data(), 5000, 1,
        [](const void*, const void* right, void* dst, size_t n) { std::memmove(dst, right, n); })
        .comp(collective)
        .runtime(runtime)();
    for (uint64_t i = 0; i < 10; ++i) {
      const int with = rank == victim ? 0 : victim;
      const size_t size = i % 2 == 0 ? 100 : 20000;
      settle(post_recv_x(with, rooms[i].data(), rooms[i].size(), i, ended));
      settle(post_send_x(with, out.data(), size, i, ended));
      for (uint64_t p = 0; rank == victim && p < last_word; ++p) progress();
    }
    if (rank == victim) {
      net::sim::fabric_of(*impl->default_net_context()->net)->lose(victim);
      // What the network has of the lost rank's operations ends, or it would be leaked.
      while (!impl->default_device()->net->drained()) progress();
    } else {
      while (failures == 0) progress();
      EXPECT_EQ(failures, 1) << "reported once";
      // Everything that needed the lost rank ends, one way or the other.
      while (ended_count.count < posted) progress();
      while (collective_count.count < 1) progress();
      EXPECT_EQ(ended_count.count, posted);
      EXPECT_THROW(
          static_cast<void>(post_send_x(victim, out.data(), 8, 0, ended).runtime(runtime)()),
          peer_failure_error);
      EXPECT_THROW(barrier_x().runtime(runtime)(), peer_failure_error);
      // The two that are left.
      const int other = 2 - rank;
      comp_t sync = alloc_sync_x().runtime(runtime)();
      for (size_t size : {size_t{8}, size_t{20000}}) {
        status_t received = post_recv_x(other, rooms[0].data(), size, 99, sync).runtime(runtime)();
        static_cast<void>(post_send_x(other, out.data(), size, 99, COMP_NULL).runtime(runtime)());
        if (received.is_posted()) sync_wait_x(sync, &received).runtime(runtime)();
        EXPECT_EQ(received.size, size);
      }
      // Neither leaves while the other needs it.
      uint64_t word = 0;
      status_t last = post_recv_x(other, &word, 8, 100, sync).runtime(runtime)();
      static_cast<void>(post_send_x(other, out.data(), 8, 100, COMP_NULL).runtime(runtime)());
      if (last.is_posted()) sync_wait_x(sync, &last).runtime(runtime)();
      for (int i = 0; i < 2000; ++i) progress();
      free_comp_x{&sync}.runtime(runtime)();
    }
  });
}

}  // namespace
}  // namespace lci
