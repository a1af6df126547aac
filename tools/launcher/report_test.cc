// The reports of lcrun about the ranks: the time of their lines, and the stopped ranks.
#include <sched.h>
#include <signal.h>

#include <cstdio>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/launcher/testing/lcrun_driver.h"

namespace lci::launcher {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;
using testing::SizeIs;

const std::vector<std::string> two_hosts = {"--launch-agent", "env -u %h", "-H", "a:2,b:2"};

std::vector<std::string> joined(std::vector<std::string> front,
                                const std::vector<std::string>& back) {
  front.insert(front.end(), back.begin(), back.end());
  return front;
}

const char time_pattern[] =
    "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9] "
    "[0-9][0-9]:[0-9][0-9]:[0-9][0-9][.][0-9][0-9][0-9] ";

TEST(Timestamp, IsInFrontOfEachLine) {
  const result r = run({"-n", "2", "--timestamp"}, {test_child, "lines", "10"});
  EXPECT_EQ(r.code, 0) << r.error;
  EXPECT_THAT(lines_of(r.out), SizeIs(20));
  EXPECT_THAT(lines_of(r.out),
              Each(MatchesRegex(std::string(time_pattern) + "[01] [0-9] 0123456789abcdef")));
}

TEST(Timestamp, IsInFrontOfTheLabel) {
  const result r =
      run(joined(two_hosts, {"-l", "--timestamp-output"}), {test_child, "variable", "LCI_SIZE"});
  EXPECT_EQ(r.code, 0) << r.error;
  EXPECT_THAT(lines_of(r.out), SizeIs(4));
  EXPECT_THAT(lines_of(r.out),
              Each(MatchesRegex(std::string(time_pattern) + "\\[[0-3] [ab]\\] 4")));
}

// The ranks may not have reached the tested state when the job times out, so the test doubles the
// time until they have. The time limit of the test is the only deadline.
result until_stopped(const std::vector<std::string>& options,
                     const std::vector<std::string>& program) {
  for (int seconds = 1;; seconds *= 2) {
    const result r = run(joined(options, {"--timeout", std::to_string(seconds)}), program);
    EXPECT_EQ(r.code, 124) << r.error;
    if (r.error.find("stopped") != std::string::npos || seconds > 16) return r;
  }
}

TEST(Stopped, RanksAreShownAtTheTimeout) {
  const result r =
      until_stopped({"-n", "4", "--oversubscribe"}, {test_child, "stop-of-rank-1", "0"});
  EXPECT_THAT(r.error, HasSubstr("--timeout: still running: ranks 0, 2-3 on "));
  EXPECT_THAT(r.error, HasSubstr("; stopped (by SIGSTOP or SIGTSTP): rank 1 on "));
}

TEST(Stopped, RanksOfHostsAreShown) {
  const result r =
      until_stopped(joined(two_hosts, {"--map-by", "node"}), {test_child, "stop-of-rank-1", "0"});
  EXPECT_THAT(r.error, HasSubstr("still running: ranks 0, 2 on a; rank 3 on b; stopped (by "
                                 "SIGSTOP or SIGTSTP): rank 1 on b"));
}

TEST(Stopped, AllRanks) {
  const result r = until_stopped({"-n", "1"}, {test_child, "stop", fresh_path("pid")});
  EXPECT_THAT(r.error, HasSubstr("--timeout: stopped (by SIGSTOP or SIGTSTP): rank 0 on "));
  EXPECT_THAT(r.error, Not(HasSubstr("still running")));
}

TEST(Stopped, RanksMayBeContinued) {
  for (const bool hosts : {false, true}) {
    const std::string pid_file = fresh_path("pid");
    std::vector<std::string> arguments = {lcrun, "-v", "-n", "1"};
    if (hosts) arguments = joined(arguments, two_hosts);
    command job(joined(arguments, {test_child, "stop", pid_file}));
    const pid_t rank = read_pid(pid_file);
    wait_until_stopped(rank);
    while (job.error_so_far().find(" is stopped\n") == std::string::npos) sched_yield();
    kill(rank, SIGCONT);
    const result r = job.wait();
    EXPECT_EQ(r.code, 0) << r.error;
  }
}

const std::vector<std::vector<std::string>> one_and_two_hosts = {
    {"-n", "2", "--oversubscribe"}, joined(two_hosts, {"-n", "2", "--map-by", "node"})};

// The grace is longer than the time limit of the test.
TEST(Stopped, RanksEndWhenAnotherOneFails) {
  for (const std::vector<std::string>& options : one_and_two_hosts) {
    const std::string path = fresh_path("go");
    command job(joined(joined({lcrun, "--grace", "10000"}, options),
                       {test_child, "failure-beside-stopped", path}));
    wait_until_stopped(read_pid(path + ".1"));
    if (FILE* file = std::fopen(path.c_str(), "w")) std::fclose(file);
    EXPECT_EQ(job.wait().code, 3);
  }
}

TEST(Stopped, RanksThatAreNotStoppedAreNotContinued) {
  for (const std::vector<std::string>& options : one_and_two_hosts) {
    const result r = run(joined({"--grace", "10000"}, options),
                         {test_child, "failure-beside-waiting", fresh_path("go")});
    EXPECT_EQ(r.code, 3) << r.error;
    EXPECT_EQ(r.out, "SIGTERM\n");
  }
}

}  // namespace
}  // namespace lci::launcher
