// Tests every sentence of bootstrap.h for every bootstrap.
#include "lci/boot/bootstrap.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lci/base/strings.h"
#include "lci/boot/job_id.h"
#include "lci/testing/job/test_job.h"

namespace lci::boot {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;
using namespace std::chrono_literals;
using boot_ptr = std::unique_ptr<bootstrap>;

std::string message(const base::Status& status) { return std::string(status.message()); }

// Lets ranks of a test wait for each other without the bootstrap under test.
class gate {
 public:
  void open() {
    std::lock_guard<std::mutex> lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

class any_bootstrap : public testing::TestWithParam<test_job::variant> {
 protected:
  int size() const { return GetParam() == test_job::variant::local ? 1 : 4; }
};

// Tests that need other ranks.
class shared_bootstrap : public any_bootstrap {};

std::string kind_name(const testing::TestParamInfo<test_job::variant>& info) {
  return test_job::name(info.param);
}

INSTANTIATE_TEST_SUITE_P(all, any_bootstrap,
                         testing::Values(test_job::variant::local, test_job::variant::in_process,
                                         test_job::variant::file, test_job::variant::tcp,
                                         test_job::variant::tcp_v6),
                         kind_name);
INSTANTIATE_TEST_SUITE_P(all, shared_bootstrap,
                         testing::Values(test_job::variant::file, test_job::variant::tcp),
                         kind_name);
// Rank 0, a thread here, forks its helper while the threads of the other ranks run. The address
// sanitizer's allocator, unlike that of the C library, can hang in such a child. (tcp_client_test
// covers this case with ranks that are processes.)
#ifndef __SANITIZE_ADDRESS__
constexpr auto served_by_rank_0 = {test_job::variant::standalone, test_job::variant::meeting};
INSTANTIATE_TEST_SUITE_P(served_by_rank_0, any_bootstrap, testing::ValuesIn(served_by_rank_0),
                         kind_name);
INSTANTIATE_TEST_SUITE_P(served_by_rank_0, shared_bootstrap, testing::ValuesIn(served_by_rank_0),
                         kind_name);
#endif

TEST_P(any_bootstrap, knows_its_place) {
  test_job job(GetParam(), size());
  std::mutex mutex;
  std::set<int> ranks, local_ranks;
  job.run([&](bootstrap& boot) {
    EXPECT_EQ(boot.size(), size());
    EXPECT_EQ(boot.position().local_size, size());  // not given by the launcher: counted
    EXPECT_EQ(boot.default_timeout(), test_timeout);
    std::lock_guard<std::mutex> lock(mutex);
    ranks.insert(boot.rank());
    local_ranks.insert(boot.position().local_rank);
  });
  EXPECT_EQ(ranks.size(), size());
  EXPECT_EQ(*ranks.rbegin(), size() - 1);
  EXPECT_EQ(local_ranks, ranks);
}

TEST_P(any_bootstrap, job_id_is_one_for_all_and_unlike_others) {
  std::set<std::string> seen;
  for (int repetition = 0; repetition < 3; ++repetition) {
    test_job job(GetParam(), size());
    std::mutex mutex;
    std::set<std::string> ids;
    job.run([&](bootstrap& boot) {
      std::lock_guard<std::mutex> lock(mutex);
      ids.emplace(boot.job_id());
    });
    ASSERT_EQ(ids.size(), 1u);
    EXPECT_TRUE(is_job_id_text(*ids.begin())) << *ids.begin();
    EXPECT_FALSE(ids.begin()->empty());
    EXPECT_LE(ids.begin()->size(), max_job_id_size);
    EXPECT_TRUE(seen.insert(*ids.begin()).second) << *ids.begin();
  }
}

TEST_P(any_bootstrap, puts_are_got_by_all_ranks) {
  test_job job(GetParam(), size());
  const std::string binary("a\0b\n\xff", 5);
  job.run([&](bootstrap& boot) {
    EXPECT_TRUE(boot.put(base::StrCat("key", boot.rank()), base::StrCat(binary, boot.rank())).ok());
    for (int rank = 0; rank < size(); ++rank) {
      const auto value = boot.get(base::StrCat("key", rank), test_timeout);
      ASSERT_TRUE(value.ok()) << value.status();
      EXPECT_EQ(*value, base::StrCat(binary, rank));
    }
    EXPECT_TRUE(boot.barrier("end", test_timeout).ok());
  });
}

TEST_P(any_bootstrap, limits_are_legal_and_beyond_is_refused) {
  test_job job(GetParam(), size());
  job.run([&](bootstrap& boot) {
    const std::string rank = base::StrCat(boot.rank());
    const std::string key = rank + std::string(bootstrap::max_key_size - rank.size(), 'k');
    const std::string large(bootstrap::max_value_size, 'v');
    EXPECT_TRUE(boot.put(key, large).ok());
    EXPECT_TRUE(boot.put("empty" + rank, "").ok());
    EXPECT_EQ(boot.get(key, 0ms).value(), large);
    EXPECT_EQ(boot.get("empty" + rank, 0ms).value(), "");

    EXPECT_TRUE(base::IsInvalidArgument(boot.put("", "")));
    EXPECT_TRUE(base::IsInvalidArgument(boot.put(key + "k", "")));
    EXPECT_TRUE(base::IsInvalidArgument(boot.put("x" + rank, large + "v")));
    EXPECT_TRUE(base::IsInvalidArgument(boot.get("", 0ms).status()));
    EXPECT_TRUE(base::IsInvalidArgument(boot.get(key + "k", 0ms).status()));
    EXPECT_TRUE(base::IsInvalidArgument(boot.barrier("", 0ms)));
    EXPECT_TRUE(base::IsInvalidArgument(boot.allgather("", "", 0ms).status()));
    EXPECT_TRUE(base::IsInvalidArgument(boot.allgather("x", large + "v", 0ms).status()));
    // The refused calls had no effect.
    EXPECT_TRUE(base::IsDeadlineExceeded(boot.get("x" + rank, 0ms).status()));
    EXPECT_TRUE(boot.allgather("x", "", test_timeout).ok());
  });
}

TEST_P(any_bootstrap, a_key_is_written_once) {
  test_job job(GetParam(), size());
  std::atomic<int> written{0};
  job.run([&](bootstrap& boot) {
    const base::Status put = boot.put("key", base::StrCat(boot.rank()));
    if (put.ok()) ++written;
    EXPECT_TRUE(put.ok() || base::IsAlreadyExists(put)) << put;
    const std::string first = boot.get("key", test_timeout).value();
    EXPECT_TRUE(base::IsAlreadyExists(boot.put("key", "other")));
    EXPECT_EQ(boot.get("key", test_timeout).value(), first);
    EXPECT_TRUE(boot.barrier("end", test_timeout).ok());
  });
  EXPECT_EQ(written, 1);
}

TEST_P(any_bootstrap, get_times_out_and_names_the_key) {
  test_job job(GetParam(), size());
  job.run([&](bootstrap& boot) {
    for (bootstrap::duration timeout : {0ms, 20ms, -5ms}) {
      const base::Status got = boot.get("not there", timeout).status();
      EXPECT_TRUE(base::IsDeadlineExceeded(got)) << got;
      EXPECT_THAT(message(got), HasSubstr("\"not there\""));
      EXPECT_THAT(message(got), HasSubstr(base::StrCat("rank ", boot.rank(), " of ", size())));
    }
  });
}

TEST_P(any_bootstrap, get_waits_for_another_thread_of_the_rank) {
  test_job job(GetParam(), size());
  job.run([&](bootstrap& boot) {
    const std::string key = base::StrCat("key", boot.rank());
    std::thread getter(
        [&] { EXPECT_EQ(boot.get(key, test_timeout).value_or("timeout"), "value"); });
    EXPECT_TRUE(boot.put(key, "value").ok());
    getter.join();
  });
}

TEST_P(any_bootstrap, nobody_leaves_a_barrier_before_all_have_entered) {
  test_job job(GetParam(), size());
  job.run([&](bootstrap& boot) {
    for (int i = 0; i < 10; ++i) {
      EXPECT_TRUE(boot.put(base::StrCat(i, " entered ", boot.rank()), "").ok());
      EXPECT_TRUE(boot.barrier(base::StrCat("barrier", i), test_timeout).ok());
      for (int rank = 0; rank < size(); ++rank) {
        EXPECT_TRUE(boot.get(base::StrCat(i, " entered ", rank), 0ms).ok());
      }
    }
  });
}

TEST_P(any_bootstrap, allgather_gives_every_rank_s_value_in_order) {
  test_job job(GetParam(), size());
  job.run([&](bootstrap& boot) {
    for (size_t bytes : {size_t{0}, size_t{1}, size_t{1000}, bootstrap::max_value_size}) {
      std::vector<std::string> expected;
      for (int rank = 0; rank < size(); ++rank) {
        expected.emplace_back(bytes, static_cast<char>('a' + rank));
      }
      const auto all = boot.allgather(base::StrCat("of ", bytes),
                                      expected[static_cast<size_t>(boot.rank())], test_timeout);
      ASSERT_TRUE(all.ok()) << all.status();
      EXPECT_TRUE(*all == expected) << bytes;  // too large to print
    }
  });
}

TEST_P(any_bootstrap, a_name_is_used_once_and_each_collective_has_its_own) {
  test_job job(GetParam(), size());
  job.run([&](bootstrap& boot) {
    EXPECT_TRUE(boot.barrier("name", test_timeout).ok());
    EXPECT_TRUE(boot.allgather("name", "", test_timeout).ok());
    EXPECT_TRUE(base::IsAlreadyExists(boot.barrier("name", test_timeout)));
    EXPECT_TRUE(base::IsAlreadyExists(boot.allgather("name", "", test_timeout).status()));
  });
}

TEST_P(any_bootstrap, threads_of_a_rank_meet_in_any_order) {
  test_job job(GetParam(), size());
  constexpr int threads = 6;
  job.run([&](bootstrap& boot) {
    std::vector<std::thread> workers;
    for (int i = 0; i < threads; ++i) {
      // Each rank begins with a different collective, so that no common order exists.
      const int which = (i + boot.rank()) % threads;
      workers.emplace_back([&boot, which] {
        for (int round = 0; round < 5; ++round) {
          const std::string name = base::StrCat(which, " ", round);
          EXPECT_TRUE(boot.barrier(name, test_timeout).ok());
          const auto all = boot.allgather(name, base::StrCat(boot.rank()), test_timeout);
          ASSERT_TRUE(all.ok()) << all.status();
          EXPECT_EQ(all->back(), base::StrCat(boot.size() - 1));
          if (boot.rank() == 0) {
            EXPECT_TRUE(boot.put(name, "value").ok());
          }
          EXPECT_EQ(boot.get(name, test_timeout).value_or("none"), "value");
        }
      });
    }
    for (std::thread& worker : workers) worker.join();
  });
}

TEST_P(any_bootstrap, a_thread_that_waits_for_long_keeps_no_other) {
  test_job job(GetParam(), size());
  job.run([&](bootstrap& boot) {
    std::vector<std::thread> waiters;
    for (int i = 0; i < 3; ++i) {
      waiters.emplace_back([&boot] { EXPECT_TRUE(boot.get("late", test_timeout).ok()); });
    }
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(boot.barrier(base::StrCat(i), test_timeout).ok());
    if (boot.rank() == 0) {
      EXPECT_TRUE(boot.put("late", "").ok());
    }
    for (std::thread& waiter : waiters) waiter.join();
  });
}

TEST_P(any_bootstrap, abort_reaches_own_waiting_and_later_calls) {
  test_job job(GetParam(), size());
  job.run([&](bootstrap& boot) {
    std::thread waiter([&] {
      const base::Status got = boot.get("never", test_timeout).status();
      EXPECT_TRUE(base::IsAborted(got)) << got;
    });
    EXPECT_TRUE(boot.barrier("all there", test_timeout).ok());
    boot.abort("because");
    waiter.join();
    EXPECT_TRUE(base::IsAborted(boot.put("key", "")));
    EXPECT_TRUE(base::IsAborted(boot.barrier("later", test_timeout)));
    EXPECT_TRUE(base::IsAborted(boot.allgather("later", "", test_timeout).status()));
    EXPECT_THAT(message(boot.get("later", test_timeout).status()), HasSubstr("because"));
  });
}

TEST_P(shared_bootstrap, abort_reaches_the_other_ranks_and_the_first_is_kept) {
  test_job job(GetParam(), 4);
  job.run([&](bootstrap& boot) {
    base::Status status;
    switch (boot.rank()) {
      case 0:
        EXPECT_TRUE(boot.get("1 is there", test_timeout).ok());
        boot.abort("first reason");
        boot.abort("second reason");
        status = boot.put("after", "");
        break;
      case 1:
        EXPECT_TRUE(boot.put("1 is there", "").ok());
        status = boot.barrier("without 0", test_timeout);
        break;
      case 2:
        status = boot.allgather("without 0", "", test_timeout).status();
        break;
      default:
        status = boot.get("never", test_timeout).status();
    }
    EXPECT_TRUE(base::IsAborted(status)) << boot.rank() << ": " << status;
    EXPECT_THAT(message(status), HasSubstr("rank 0: first reason"));
    boot.abort("third reason");
    EXPECT_THAT(message(boot.put("again", "")), HasSubstr("rank 0: first reason"));
  });
}

TEST_P(shared_bootstrap, a_timeout_names_the_ranks_that_did_not_arrive) {
  test_job job(GetParam(), 4);
  job.run([&](bootstrap& boot) {
    if (boot.rank() == 1 || boot.rank() == 0) {
      const base::Status barrier = boot.barrier("b", boot.rank() == 0 ? test_timeout : 50ms);
      if (boot.rank() == 1) {
        EXPECT_TRUE(base::IsDeadlineExceeded(barrier)) << barrier;
        EXPECT_THAT(message(barrier), HasSubstr("barrier \"b\" on rank 1 of 4"));
        EXPECT_THAT(message(barrier), HasSubstr("2, 3 did not arrive"));
        const base::Status allgather = boot.allgather("a", "", 0ms).status();
        EXPECT_TRUE(base::IsDeadlineExceeded(allgather)) << allgather;
        EXPECT_THAT(message(allgather), HasSubstr("ranks 0, 2, 3 did not arrive"));
        // The call has entered the barrier nevertheless.
        EXPECT_TRUE(base::IsAlreadyExists(boot.barrier("b", test_timeout)));
        EXPECT_TRUE(boot.put("timed out", "").ok());
      } else {
        EXPECT_TRUE(barrier.ok()) << barrier;  // rank 1's entry counted
      }
    } else {
      EXPECT_TRUE(boot.get("timed out", test_timeout).ok());
      EXPECT_TRUE(boot.barrier("b", test_timeout).ok());
    }
    EXPECT_TRUE(boot.barrier("end", test_timeout).ok());
  });
}

TEST_P(shared_bootstrap, the_start_times_out_and_names_the_ranks_that_did_not_arrive) {
  test_job job(GetParam(), 4);
  job.serve();
  const base::Status status = job.connect(0, 100ms).status();
  EXPECT_TRUE(base::IsDeadlineExceeded(status)) << status;
  EXPECT_THAT(message(status), HasSubstr("rank 0 of 4"));
  EXPECT_THAT(message(status), HasSubstr("ranks 1-3 did not arrive"));
}

TEST_P(shared_bootstrap, a_failed_start_does_not_poison_the_next) {
  test_job job(GetParam(), 3);
  job.serve();
  EXPECT_TRUE(base::IsDeadlineExceeded(job.connect(0, 20ms).status()));
  job.run([](bootstrap& boot) { EXPECT_TRUE(boot.barrier("b", test_timeout).ok()); });
}

TEST_P(shared_bootstrap, a_rank_that_left_is_not_waited_for_and_its_values_stay) {
  test_job job(GetParam(), 3);
  gate left;
  job.run_threads([&](int rank) {
    base::StatusOr<boot_ptr> boot = job.connect(rank);
    ASSERT_TRUE(boot.ok()) << boot.status();
    if (rank == 1) {
      EXPECT_TRUE((*boot)->put("from 1", "value").ok());
      boot->reset();
      left.open();
      return;
    }
    // Rank 0 most likely waits already when rank 1 leaves; rank 2 enters later.
    if (rank == 2) left.pass();
    const base::Status barrier = (*boot)->barrier("all", test_timeout);
    EXPECT_TRUE(base::IsUnavailable(barrier)) << barrier;
    EXPECT_THAT(message(barrier), HasSubstr("rank 1 left"));
    EXPECT_EQ((*boot)->get("from 1", test_timeout).value_or(""), "value");
  });
}

TEST_P(shared_bootstrap, rounds_follow_each_other_and_never_meet) {
  test_job job(GetParam(), 3);
  std::mutex mutex;
  std::set<std::string> ids;
  job.run_threads([&](int rank) {
    for (int round = 0; round < 5; ++round) {
      const base::StatusOr<boot_ptr> boot = job.connect(rank);
      ASSERT_TRUE(boot.ok()) << boot.status();
      // The same names with other values: no old value remains. There is no barrier at the end: a
      // fast rank may be in the next round while a slow rank is still in this round.
      const auto all = (*boot)->allgather("round", base::StrCat(round), test_timeout);
      ASSERT_TRUE(all.ok()) << all.status();
      EXPECT_THAT(*all, testing::Each(base::StrCat(round)));
      std::lock_guard<std::mutex> lock(mutex);
      ids.emplace((*boot)->job_id());
    }
  });
  EXPECT_EQ(ids.size(), 5u);
}

TEST_P(shared_bootstrap, two_processes_cannot_be_one_rank) {
  test_job job(GetParam(), 2);
  job.serve();
  std::atomic<int> refused{0};
  gate one_refused;
  const auto claim_rank_0 = [&] {
    const base::StatusOr<boot_ptr> boot = job.connect(0);
    if (boot.ok()) return;
    EXPECT_THAT(message(boot.status()), HasSubstr("is rank 0"));
    ++refused;
    one_refused.open();
  };
  std::thread first(claim_rank_0), second(claim_rank_0);
  // The second rank 0 is refused; the job starts with the first.
  one_refused.pass();
  const base::StatusOr<boot_ptr> rank_1 = job.connect(1);
  EXPECT_TRUE(rank_1.ok()) << rank_1.status();
  first.join();
  second.join();
  EXPECT_EQ(refused, 1);
}

TEST_P(shared_bootstrap, works_between_processes) {
  test_job job(GetParam(), 4);
  const int failed = job.run_processes([&](int rank) {
    const base::StatusOr<boot_ptr> boot = job.connect(rank);
    if (!boot.ok()) return ADD_FAILURE() << boot.status(), false;
    const auto all = (*boot)->allgather("pids", base::StrCat(::getpid()), test_timeout);
    EXPECT_TRUE(all.ok()) << all.status();
    EXPECT_EQ((*all)[static_cast<size_t>(rank)], base::StrCat(::getpid()));
    EXPECT_EQ(std::set<std::string>(all->begin(), all->end()).size(), 4u);
    if (rank == 3) {
      EXPECT_TRUE((*boot)->put("key", "value").ok());
    }
    EXPECT_EQ((*boot)->get("key", test_timeout).value_or(""), "value");
    EXPECT_TRUE((*boot)->barrier("end", test_timeout).ok());
    return true;
  });
  EXPECT_EQ(failed, 0);
}

TEST_P(shared_bootstrap, a_dead_rank_is_not_waited_for) {
  test_job job(GetParam(), 3);
  const int failed = job.run_processes([&](int rank) {
    const base::StatusOr<boot_ptr> boot = job.connect(rank);
    if (!boot.ok()) return ADD_FAILURE() << boot.status(), false;
    if (rank == 2) ::_exit(0);  // no destructor runs
    const base::Status barrier = (*boot)->barrier("all", test_timeout);
    EXPECT_TRUE(base::IsUnavailable(barrier)) << barrier;
    EXPECT_THAT(message(barrier), HasSubstr("rank 2"));
    return true;
  });
  EXPECT_EQ(failed, 0);
}

TEST_P(shared_bootstrap, the_first_loss_is_the_same_for_all) {
  test_job job(GetParam(), 3);
  gate reported;
  job.run_threads([&](int rank) {
    base::StatusOr<boot_ptr> boot = job.connect(rank);
    ASSERT_TRUE(boot.ok()) << boot.status();
    if (rank == 0) {
      EXPECT_EQ((*boot)->first_lost(), std::nullopt);
      (*boot)->report_lost(2);
      (*boot)->report_lost(1);
      reported.open();
    } else {
      reported.pass();
      (*boot)->report_lost(0);
    }
    EXPECT_EQ((*boot)->first_lost(), 2);
    EXPECT_TRUE((*boot)->barrier("all have looked", test_timeout).ok());
  });
}

// Rank 2 leaves while others wait for it, and rank 1 because of that.
TEST_P(shared_bootstrap, a_rank_that_leaves_because_of_another_is_not_blamed) {
  test_job job(GetParam(), 3);
  gate left;
  job.run_threads([&](int rank) {
    base::StatusOr<boot_ptr> boot = job.connect(rank);
    ASSERT_TRUE(boot.ok()) << boot.status();
    if (rank == 2) return;
    if (rank == 1) {
      EXPECT_TRUE(base::IsUnavailable((*boot)->barrier("one", test_timeout)));
      EXPECT_EQ((*boot)->first_lost(), 2);
      boot->reset();
      left.open();
      return;
    }
    left.pass();
    for (const char* name : {"one", "two"}) {
      const base::Status barrier = (*boot)->barrier(name, test_timeout);
      EXPECT_TRUE(base::IsUnavailable(barrier)) << barrier;
      EXPECT_THAT(message(barrier), HasSubstr("rank 2"));
      EXPECT_THAT(message(barrier), Not(HasSubstr("rank 1 ")));
    }
    EXPECT_EQ((*boot)->first_lost(), 2);
  });
}

// Rank 2 dies, then rank 1 without a word.
TEST_P(shared_bootstrap, a_rank_that_dies_because_of_another_is_not_blamed) {
  test_job job(GetParam(), 3);
  const int failed = job.run_processes([&](int rank) {
    const base::StatusOr<boot_ptr> boot = job.connect(rank);
    if (!boot.ok()) return ADD_FAILURE() << boot.status(), false;
    if (rank == 2) ::_exit(0);  // no destructor runs
    EXPECT_TRUE(base::IsUnavailable((*boot)->barrier("one", test_timeout)));
    if (rank == 1) ::_exit(0);
    const base::Status barrier = (*boot)->barrier("two", test_timeout);
    EXPECT_TRUE(base::IsUnavailable(barrier)) << barrier;
    EXPECT_THAT(message(barrier), HasSubstr("rank 2"));
    EXPECT_EQ((*boot)->first_lost(), 2);
    return true;
  });
  EXPECT_EQ(failed, 0);
}

TEST_P(shared_bootstrap, a_forked_child_does_not_leave_for_its_parent) {
  test_job job(GetParam(), 2);
  const int failed = job.run_processes([&](int rank) {
    base::StatusOr<boot_ptr> boot = job.connect(rank);
    if (!boot.ok()) return ADD_FAILURE() << boot.status(), false;
    const pid_t child = ::fork();
    if (child == 0) {
      boot->reset();
      ::_exit(0);
    }
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE((*boot)->barrier("all", test_timeout).ok());
    return true;
  });
  EXPECT_EQ(failed, 0);
}

}  // namespace
}  // namespace lci::boot
