// Thread teams: collective operations in which every thread of every rank takes part.
#include <atomic>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "lci/api/lci.hpp"
#include "lci/runtime/collective/thread_team.h"
#include "lci/runtime/instance/runtime.h"
#include "lci/testing/ranks/collectives.h"
#include "lci/testing/ranks/ranks.h"

namespace lci {
namespace {

using bytes = std::vector<unsigned char>;

class ThreadTeams : public rank_test {};
INSTANTIATE_TEST_SUITE_P(OneToFiveRanks, ThreadTeams, testing::ValuesIn(one_to(5)));

// 1 to 3, different from rank to rank.
size_t threads_of(int rank) { return 1 + static_cast<size_t>(rank * 2 + 1) % 3; }
size_t all_threads(int ranks) {
  size_t sum = 0;
  for (int rank = 0; rank < ranks; ++rank) sum += threads_of(rank);
  return sum;
}

thread_team_t make_team(runtime_t runtime, size_t threads, group_t group = group_t()) {
  return alloc_thread_team_x(threads).runtime(runtime).group(group)();
}
void end(runtime_t runtime, thread_team_t* team) { free_thread_team_x(team).runtime(runtime)(); }

// body(t) in a thread for each t, of this rank.
void in_threads(size_t threads, const std::function<void(size_t)>& body) {
  end_turns();
  std::vector<std::thread> running;
  for (size_t t = 0; t < threads; ++t) running.emplace_back([&body, t] { body(t); });
  for (std::thread& each : running) each.join();
}

std::vector<size_t> sizes() {
  std::vector<size_t> chosen;
  // Up to 4096 bytes one thread does it all.
  for (const size_t size : {0, 8, 4096, 4104, 60000}) {
    if (size <= greatest_size()) chosen.push_back(size);
  }
  return chosen;
}

TEST_P(ThreadTeams, CountThreadsRankByRank) {
  run_job(ranks(), [](runtime_t runtime) {
    const size_t own = threads_of(rank_of(runtime));
    thread_team_t team = make_team(runtime, own);
    EXPECT_EQ(team.get_attr_nthreads(), own);
    EXPECT_EQ(get_thread_n(team), all_threads(size_of(runtime)));
    for (size_t t = 0; t < own; ++t) {
      EXPECT_EQ(get_thread_me(team, t), all_threads(rank_of(runtime)) + t);
    }
    end(runtime, &team);
    EXPECT_TRUE(team.is_empty());
  });
}

// All threads add one before each barrier, and see what all have added behind it.
TEST_P(ThreadTeams, ABarrierWaitsForAllThreads) {
  std::atomic<size_t> arrived{0};
  run_job(ranks(), [&arrived](runtime_t runtime) {
    const size_t own = threads_of(rank_of(runtime));
    const size_t all = all_threads(size_of(runtime));
    thread_team_t team = make_team(runtime, own);
    const auto rounds = less_if_simulated<size_t>(100, 5);
    in_threads(own, [&](size_t t) {
      for (size_t round = 1; round <= rounds; ++round) {
        ++arrived;
        barrier_x().thread_team(team).thread(t).runtime(runtime)();
        ASSERT_GE(arrived, round * all);
        barrier_x().thread_team(team).thread(t).runtime(runtime)();
        ASSERT_LE(arrived, (round + 1) * all);
      }
    });
    end(runtime, &team);
  });
}

TEST_P(ThreadTeams, ABroadcastReachesAllThreads) {
  run_job(ranks(), [](runtime_t runtime) {
    const size_t own = threads_of(rank_of(runtime));
    const size_t all = all_threads(size_of(runtime));
    thread_team_t team = make_team(runtime, own);
    in_threads(own, [&](size_t t) {
      const size_t me = get_thread_me(team, t);
      for (const size_t size : sizes()) {
        for (const size_t root : {size_t{0}, all / 2, all - 1}) {
          const bytes expected = make_message(static_cast<int>(root), 3, size);
          bytes buffer = me == root ? expected : bytes(size);
          broadcast_x(buffer.data(), size, static_cast<int>(root))
              .thread_team(team)
              .thread(t)
              .runtime(runtime)();
          ASSERT_EQ(buffer, expected);
          // The root's buffer is its own again.
          buffer.assign(size, 0);
        }
      }
    });
    end(runtime, &team);
  });
}

// With an operator that does not commute: operands are in the order of the threads.
TEST_P(ThreadTeams, ReductionsCombineAllThreadsInTheirOrder) {
  run_job(ranks(), [](runtime_t runtime) {
    const size_t own = threads_of(rank_of(runtime));
    const size_t all = all_threads(size_of(runtime));
    thread_team_t team = make_team(runtime, own);
    in_threads(own, [&](size_t t) {
      const size_t me = get_thread_me(team, t);
      for (const size_t size : sizes()) {
        const size_t count = size / sizeof(affine);
        const std::vector<affine> operands = items_of(static_cast<int>(me), count);
        const std::vector<affine> expected = all_reduced(static_cast<int>(all), count);
        std::vector<affine> result(count);
        allreduce_x(operands.data(), result.data(), count, sizeof(affine), compose)
            .thread_team(team)
            .thread(t)
            .runtime(runtime)();
        ASSERT_EQ(result, expected);
        for (const size_t root : {all - 1, size_t{0}, all / 2}) {
          // In place.
          result = operands;
          reduce_x(result.data(), result.data(), count, sizeof(affine), compose,
                   static_cast<int>(root))
              .thread_team(team)
              .thread(t)
              .runtime(runtime)();
          ASSERT_EQ(result, me == root ? expected : operands);
        }
      }
    });
    end(runtime, &team);
  });
}

// Each thread makes progress on a device of its own.
TEST_P(ThreadTeams, ThreadsHaveDevicesOfTheirOwn) {
  run_job(ranks(), [](runtime_t runtime) {
    constexpr size_t threads = 2;
    thread_team_t team = make_team(runtime, threads);
    const auto n = threads * static_cast<size_t>(size_of(runtime));
    std::vector<device_t> devices;
    for (size_t t = 0; t < threads; ++t) devices.push_back(alloc_device_x().runtime(runtime)());
    in_threads(threads, [&](size_t t) {
      for (size_t round = 0; round < less_if_simulated<size_t>(100, 5); ++round) {
        const uint64_t own = get_thread_me(team, t) + round;
        uint64_t sum = 0;
        allreduce_x(&own, &sum, 1, sizeof own, reduce_sum<uint64_t>)
            .thread_team(team)
            .thread(t)
            .device(devices[t])();
        ASSERT_EQ(sum, n * round + n * (n - 1) / 2);
      }
    });
    end(runtime, &team);
    for (device_t& each : devices) free_device_x{&each}.runtime(runtime)();
  });
}

// Two teams, one of a group, each with threads of its own, which are in no order with each other.
TEST_P(ThreadTeams, SeveralAtATime) {
  run_job(ranks(), [](runtime_t runtime) {
    group_t group = split_group_x(rank_of(runtime) % 2, 0).runtime(runtime)();
    thread_team_t of_all = make_team(runtime, 2);
    thread_team_t of_group = make_team(runtime, 2, group);
    EXPECT_EQ(get_thread_n(of_group), 2 * static_cast<size_t>(get_rank_n(group)));
    in_threads(4, [&](size_t t) {
      const thread_team_t team = t < 2 ? of_all : of_group;
      const size_t n = get_thread_n(team);
      for (size_t round = 0; round < less_if_simulated<size_t>(50, 3); ++round) {
        const uint64_t own = get_thread_me(team, t % 2);
        uint64_t sum = 0;
        allreduce_x(&own, &sum, 1, sizeof own, reduce_sum<uint64_t>)
            .thread_team(team)
            .thread(t % 2)
            .runtime(runtime)();
        ASSERT_EQ(sum, n * (n - 1) / 2);
      }
    });
    end(runtime, &of_all);
    end(runtime, &of_group);
    free_group_x{&group}.runtime(runtime)();
  });
}

TEST(ThreadTeamFailures, MistakesAreNamed) {
  run_job(2, [](runtime_t runtime) {
    EXPECT_NE(error_of([&] { static_cast<void>(make_team(runtime, 0)); }).find("nthreads is 0"),
              std::string::npos);
    thread_team_t team = make_team(runtime, 1);
    const auto barrier = [&] { return barrier_x().thread_team(team).runtime(runtime); };
    EXPECT_NE(error_of([&] { barrier().thread(1)(); }).find("thread is 1, and this rank has 1"),
              std::string::npos);
    group_t group = split_group_x(0, 0).runtime(runtime)();
    EXPECT_NE(error_of([&] { barrier().group(group)(); }).find("the option group is given"),
              std::string::npos);
    free_group_x{&group}.runtime(runtime)();
    matching_engine_t engine = alloc_matching_engine_x().runtime(runtime)();
    EXPECT_NE(error_of([&] { barrier().matching_engine(engine)(); }).find("matching_engine"),
              std::string::npos);
    free_matching_engine_x{&engine}.runtime(runtime)();
    comp_t queue = alloc_cq_x().runtime(runtime)();
    EXPECT_NE(error_of([&] { barrier().comp(queue)(); }).find("the option comp"),
              std::string::npos);
    free_comp_x{&queue}.runtime(runtime)();
    uint64_t value = 0;
    EXPECT_NE(error_of([&] {
                broadcast_x(&value, 8, 0)
                    .algorithm(broadcast_algorithm_t::tree)
                    .thread_team(team)
                    .runtime(runtime)();
              }).find("the option algorithm"),
              std::string::npos);
    EXPECT_NE(error_of([&] {
                broadcast_x(&value, 8, 2).thread_team(team).runtime(runtime)();
              }).find("root is 2, not 0 to 1"),
              std::string::npos);
    EXPECT_NE(error_of([&] {
                allreduce_x(&value, nullptr, 1, 8, reduce_sum<uint64_t>)
                    .thread_team(team)
                    .runtime(runtime)();
              }).find("recvbuf is null"),
              std::string::npos);
    EXPECT_THROW(static_cast<void>(get_thread_me(team, 1)), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(get_thread_n(thread_team_t())), std::invalid_argument);
    const thread_team_t copy = team;
    EXPECT_EQ(runtime.p_impl->left_over(), "1 thread team");
    end(runtime, &team);
    EXPECT_EQ(runtime.p_impl->left_over(), "");
    EXPECT_NE(
        error_of([&] { barrier_x().thread_team(copy).runtime(runtime)(); }).find("has been freed"),
        std::string::npos);
    EXPECT_THROW(end(runtime, &team), std::invalid_argument);
  });
}

TEST(ThreadTeamFailures, ATeamOfAnotherRuntimeIsRefused) {
  if (simulated()) GTEST_SKIP() << "two jobs at a time";
  run_job(1, [](runtime_t runtime) {
    run_job(1, [runtime](runtime_t other) {
      thread_team_t team = make_team(runtime, 1);
      EXPECT_NE(error_of([&] {
                  barrier_x().thread_team(team).runtime(other)();
                }).find("the thread team belongs to another runtime"),
                std::string::npos);
      end(runtime, &team);
    });
  });
}

TEST(ThreadTeamFailures, AHandlerNeitherWaitsNorFrees) {
  // By rank.
  static thread_team_t teams[2];
  static std::vector<std::string> errors[2];
  run_job(2, [](runtime_t runtime) {
    const int rank = rank_of(runtime);
    thread_team_t& team = teams[rank];
    team = make_team(runtime, 1);
    errors[rank].clear();
    comp_t handler = alloc_handler_x([](status_t status) {
                       const int here = 1 - status.rank;
                       thread_team_t& own = teams[here];
                       const runtime_t owner(&own.p_impl->group.p_impl->runtime);
                       errors[here] = {error_of([&] { barrier_x().thread_team(own)(); }),
                                       error_of([&] { free_thread_team(&own); }),
                                       error_of([&] { make_team(owner, 1); })};
                     }).runtime(runtime)();
    const rcomp_t rcomp = register_rcomp_x(handler).runtime(runtime)();
    barrier_x().runtime(runtime)();
    static_cast<void>(
        accepted(post_am_x(1 - rank, nullptr, 0, COMP_NULL_RETRY, rcomp).runtime(runtime)));
    while (errors[rank].empty()) progress_x().runtime(runtime)();
    for (const std::string& each : errors[rank]) {
      EXPECT_NE(each.find("handler"), std::string::npos) << each;
    }
    EXPECT_HAS(errors[rank].back(), "alloc_thread_team would have to wait");
    EXPECT_FALSE(team.is_empty());
    end(runtime, &team);
    free_comp_x{&handler}.runtime(runtime)();
  });
}

// Thread 0 passes its number, and so does thread 1 once thread 0 waits.
TEST(ThreadTeamFailures, TwoThreadsWithOneNumberAreAnError) {
  run_job(1, [](runtime_t runtime) {
    thread_team_t team = make_team(runtime, 2);
    std::atomic<int> errors{0};
    in_threads(2, [&](size_t t) {
      while (t == 1 && team.p_impl->barrier.is_idle()) std::this_thread::yield();
      const std::string error =
          error_of([&] { barrier_x().thread_team(team).thread(0).runtime(runtime)(); });
      EXPECT_NE(error.find("thread 1 of the thread team has called 0 operations, thread 0 2"),
                std::string::npos)
          << error;
      ++errors;
    });
    EXPECT_EQ(errors, 2);
    end(runtime, &team);
  });
}

// A rank outside of the team's group fails while thread 0 waits: the operation continues, and a
// later progress() reports the loss.
TEST(ThreadTeamFailures, ALossOutsideOfTheGroupIsReportedLater) {
  run_job(3, [](runtime_t runtime) {
    const int rank = rank_of(runtime);
    group_t group = split_group_x(rank == 2 ? -1 : 0, 0).runtime(runtime)();
    if (rank < 2) {
      thread_team_t team = make_team(runtime, 2, group);
      if (rank == 0) runtime.p_impl->defer_failure(peer_failure_error(2, "rank 2 is gone"));
      in_threads(2, [&](size_t t) {
        if (t == 1) {
          // Thread 0 has met the report.
          while (team.p_impl->barrier.is_idle() || runtime.p_impl->has_pending_collectives()) {
            std::this_thread::yield();
          }
        }
        EXPECT_EQ(error_of([&] { barrier_x().thread_team(team).thread(t).runtime(runtime)(); }),
                  "");
      });
      // A progress() that finds messages handles those first.
      while (rank == 0 && error_of([&] { progress_x().runtime(runtime)(); }) != "rank 2 is gone") {
      }
      end(runtime, &team);
      free_group_x{&group}.runtime(runtime)();
    }
    barrier_x().runtime(runtime)();
  });
}

// The last thread of each rank has come already: the operation of the ranks fails.
TEST(ThreadTeamFailures, ALossInTheOperationOfTheRanksIsAPeerFailure) {
  run_apart(2, [](runtime_t runtime) {
    thread_team_t team = make_team(runtime, 1);
    if (rank_of(runtime) == 1) return;
    runtime.p_impl->engines().fail_peer(1);
    for (int i = 0; i < 2; ++i) {
      EXPECT_THROW(barrier_x().thread_team(team).runtime(runtime)(), peer_failure_error);
    }
    EXPECT_THROW(end(runtime, &team), peer_failure_error);
  });
}

// All threads throw, and the team can be used again.
TEST(ThreadTeamFailures, ThreadsThatDifferAreAnError) {
  run_job(2, [](runtime_t runtime) {
    thread_team_t team = make_team(runtime, 3);
    std::atomic<int> errors{0};
    const auto count_error = [&](const char* text, const auto& call) {
      try {
        call();
      } catch (const std::invalid_argument& error) {
        EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
        ++errors;
      }
    };
    in_threads(3, [&](size_t t) {
      uint64_t own = 1;
      uint64_t sum = 0;
      count_error("of the thread team calls", [&] {
        if (t == 1) return barrier_x().thread_team(team).thread(t).runtime(runtime)();
        allreduce_x(&own, &sum, 1, 8, reduce_sum<uint64_t>)
            .thread_team(team)
            .thread(t)
            .runtime(runtime)();
      });
      count_error("of the thread team calls broadcast of", [&] {
        std::vector<char> buffer(9000);
        broadcast_x(buffer.data(), t == 2 ? 9000 : 8000, 1)
            .thread_team(team)
            .thread(t)
            .runtime(runtime)();
      });
      count_error("pass different operators", [&] {
        allreduce_x(&own, &sum, 1, 8, t == 0 ? reduce_min<uint64_t> : reduce_sum<uint64_t>)
            .thread_team(team)
            .thread(t)
            .runtime(runtime)();
      });
      allreduce_x(&own, &sum, 1, 8, reduce_sum<uint64_t>)
          .thread_team(team)
          .thread(t)
          .runtime(runtime)();
      EXPECT_EQ(sum, 6U);
    });
    EXPECT_EQ(errors, 9);
    end(runtime, &team);
  });
}

TEST(ThreadTeamFailures, AThreadThatWaitsKeepsTheTeam) {
  run_job(1, [](runtime_t runtime) {
    thread_team_t team = make_team(runtime, 2);
    std::atomic<bool> tried{false};
    in_threads(2, [&](size_t t) {
      if (t == 0) return barrier_x().thread_team(team).thread(0).runtime(runtime)();
      while (team.p_impl->barrier.is_idle()) std::this_thread::yield();
      const std::string error = error_of([&] { end(runtime, &team); });
      EXPECT_FALSE(team.is_empty());
      EXPECT_NE(error.find("a thread is in an operation"), std::string::npos) << error;
      tried = true;
      barrier_x().thread_team(team).thread(1).runtime(runtime)();
    });
    EXPECT_TRUE(tried);
    end(runtime, &team);
  });
}

// The threads of a rank whose peer is lost end: those that wait, and those that come later.
TEST(ThreadTeamFailures, ALostRankEndsTheOperationsOfAllThreads) {
  run_apart(3, [](runtime_t runtime) {
    const int rank = rank_of(runtime);
    thread_team_t team = make_team(runtime, 3);
    if (rank == 2) return;
    std::atomic<int> failed{0};
    const auto expect_failure = [&](const std::function<void()>& call) {
      try {
        call();
        ADD_FAILURE() << "no error";
      } catch (const peer_failure_error& error) {
        EXPECT_EQ(error.failed_rank(), 2);
        ++failed;
      }
    };
    in_threads(3, [&](size_t t) {
      const auto barrier = [&] { barrier_x().thread_team(team).thread(t).runtime(runtime)(); };
      if (t == 0) {
        // Rank 0: one thread waits for another, which does not come before the loss. Rank 1: all
        // wait for the other ranks.
        while (rank == 0 && team.p_impl->barrier.is_idle()) std::this_thread::yield();
        runtime.p_impl->engines().fail_peer(2);
        if (rank == 0) {
          while (failed == 0) progress_x().runtime(runtime)();
        }
      }
      expect_failure(barrier);
      expect_failure(barrier);
    });
    EXPECT_EQ(failed, 6);
    EXPECT_THROW(end(runtime, &team), peer_failure_error);
    EXPECT_TRUE(team.is_empty());
  });
}

}  // namespace
}  // namespace lci
