#include "lci/testing/job/rank_processes.h"

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <functional>
#include <vector>

#include "gtest/gtest-spi.h"
#include "gtest/gtest.h"

namespace lci::boot {
namespace {

std::vector<pid_t> start(const std::vector<std::function<void()>>& bodies) {
  std::vector<pid_t> started;
  for (const auto& body : bodies) {
    const pid_t child = fork();
    if (child == 0) {
      body();
      _exit(0);
    }
    started.push_back(child);
  }
  return started;
}

void wait_forever() {
  for (;;) pause();
}
void fail_assertion() { _exit(rank_processes::assertion_failed); }

TEST(RankProcesses, CountsThoseThatFail) {
  EXPECT_EQ(rank_processes(start({[] {}, [] {}})).wait(), 0);
  EXPECT_EQ(rank_processes(start({[] {}, [] { _exit(1); }, [] { raise(SIGKILL); }})).wait(), 2);
}

TEST(RankProcesses, ARankThatWaitsIsKilledAfterTheFailedAssertionOfAnother) {
  int failed = 0;
  EXPECT_NONFATAL_FAILURE(
      failed = rank_processes(start({wait_forever, fail_assertion, wait_forever, [] {}})).wait(),
      "rank 1 has failed (see above); these ranks still ran 2 s later and were killed: 0 2");
  EXPECT_EQ(failed, 3);
}

TEST(RankProcesses, ARankThatAbortsHasFailed) {
  int failed = 0;
  EXPECT_NONFATAL_FAILURE(failed = rank_processes(start({std::abort, wait_forever})).wait(),
                          "rank 0 has failed");
  EXPECT_EQ(failed, 2);
}

// A test may kill ranks on purpose.
TEST(RankProcesses, ALostRankLetsTheOthersContinue) {
  int release[2];
  ASSERT_EQ(pipe(release), 0);
  const auto killed_first = [&] {
    return rank_processes(start({[] { raise(SIGKILL); },
                                 [&] {
                                   char byte;
                                   if (read(release[0], &byte, 1) != 1) _exit(1);
                                 }}));
  };
  rank_processes ranks = killed_first();
  ASSERT_EQ(write(release[1], "x", 1), 1);
  EXPECT_EQ(ranks.wait(), 1);
  close(release[0]);
  close(release[1]);
}

}  // namespace
}  // namespace lci::boot
