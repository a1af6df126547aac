#include "lci/observe/observer.h"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lci/base/check.h"
#include "lci/boot/in_process.h"
#include "lci/observe/job_report.h"
#include "lci/observe/rank_report.h"
#include "lci/observe/waiting.h"

namespace lci::observe {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

constexpr milliseconds patience{60000};

std::vector<std::unique_ptr<boot::bootstrap>> job_of(int ranks) {
  return boot::make_in_process_job(ranks, patience);
}

// The standard error stream of the process, to be read.
class stderr_pipe {
 public:
  stderr_pipe() {
    LCI_CHECK(pipe(ends_) == 0, "pipe");
    before_ = dup(STDERR_FILENO);
    dup2(ends_[1], STDERR_FILENO);
  }
  ~stderr_pipe() {
    dup2(before_, STDERR_FILENO);
    for (const int fd : {before_, ends_[0], ends_[1]}) close(fd);
  }
  // Returns the output as soon as it contains the text.
  std::string read_until(const std::string& text) const {
    std::string all;
    char block[4096];
    while (all.find(text) == std::string::npos) {
      const ssize_t got = read(ends_[0], block, sizeof(block));
      if (got <= 0) break;
      all.append(block, static_cast<size_t>(got));
    }
    return all;
  }

 private:
  int ends_[2] = {-1, -1};
  int before_ = -1;
};

TEST(Observer, AnswersQueriesInTurn) {
  auto ranks = job_of(2);
  const auto observer = start_observer(*ranks[1], {});
  ASSERT_NE(observer, nullptr);
  for (int query = 0; query < 3; ++query) {
    ASSERT_TRUE(ranks[0]->put(query_key(query), "a test").ok());
    const auto answer = ranks[0]->get(answer_key(query, 1), patience);
    ASSERT_TRUE(answer.ok()) << answer.status();
    const auto report = decode(*answer);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->rank, 1);
    EXPECT_EQ(report->size, 2);
    EXPECT_EQ(report->pid, getpid());
  }
}

TEST(Observer, AsksWhenAWaitIsOverdue) {
  auto ranks = job_of(2);
  observer_options options;
  options.patience = milliseconds(1);
  options.is_collected_by_server = true;
  const auto observer = start_observer(*ranks[1], options);
  const waiting here({"barrier", rank_report::any_rank, 5});
  const auto reason = ranks[0]->get(query_key(0), patience);
  ASSERT_TRUE(reason.ok()) << reason.status();
  EXPECT_THAT(*reason, testing::MatchesRegex(
                           "rank 1 has waited [0-9]+ s in barrier; LCI_HANG_REPORT sets the time"));
  const auto answer = ranks[0]->get(answer_key(0, 1), patience);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_THAT(*answer, HasSubstr("barrier"));
}

TEST(Observer, CollectsWhatItHasAskedFor) {
  auto ranks = job_of(1);
  observer_options options;
  options.patience = milliseconds(1);
  testing::internal::CaptureStderr();
  {
    const auto observer = start_observer(*ranks[0], options);
    const waiting here({"sync_wait"});
    ASSERT_TRUE(ranks[0]->get(answer_key(0, 0), patience).ok());
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::AllOf(testing::StartsWith("lci: state of the job (rank 0 has waited "),
                             HasSubstr(" s in sync_wait; LCI_HANG_REPORT sets the time): 1 of 1 "
                                       "rank answered")));
}

TEST(Observer, AnswersASignalToTheProcess) {
  auto ranks = job_of(1);
  observer_options options;
  options.is_collected_by_server = true;
  const auto observer = start_observer(*ranks[0], options);
  kill(getpid(), SIGUSR1);
  const auto reason = ranks[0]->get(query_key(0), patience);
  ASSERT_TRUE(reason.ok()) << reason.status();
  EXPECT_EQ(*reason, "SIGUSR1 to rank 0");
}

void ignore(int) {}

TEST(Observer, LeavesTheSignalToAProgramThatHandlesIt) {
  struct sigaction now = {};
  signal(SIGUSR1, ignore);
  {
    auto ranks = job_of(1);
    const auto observer = start_observer(*ranks[0], {});
    sigaction(SIGUSR1, nullptr, &now);
    EXPECT_EQ(now.sa_handler, ignore);
  }
  sigaction(SIGUSR1, nullptr, &now);
  EXPECT_EQ(now.sa_handler, ignore);
  signal(SIGUSR1, SIG_DFL);
  {
    auto ranks = job_of(1);
    const auto observer = start_observer(*ranks[0], {});
    sigaction(SIGUSR1, nullptr, &now);
    EXPECT_NE(now.sa_handler, SIG_DFL);
  }
  sigaction(SIGUSR1, nullptr, &now);
  EXPECT_EQ(now.sa_handler, SIG_DFL);
}

// When the job has been aborted, a rank reports by itself what it waits for.
TEST(Observer, SpeaksForItsRankAloneAfterAnAbort) {
  auto ranks = job_of(2);
  ranks[0]->abort("a test");
  const stderr_pipe pipe;
  observer_options options;
  options.patience = milliseconds(1);
  const auto observer = start_observer(*ranks[1], options);
  const waiting here({"sync_wait"});
  EXPECT_THAT(pipe.read_until("* rank 1 has waited"), HasSubstr("this rank alone"));
}

}  // namespace
}  // namespace lci::observe
