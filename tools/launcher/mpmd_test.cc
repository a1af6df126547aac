// Several programs in one job: lcrun -n 2 ./a x : -n 1 ./b y.
#include <cstdlib>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/launcher/testing/lcrun_driver.h"

namespace lci::launcher {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::UnorderedElementsAre;

// Several hosts, whose helpers the agent starts on this host.
const std::vector<std::string> two_hosts = {"--launch-agent", "env -u %h", "-H", "a:2,b:2"};

std::vector<std::string> joined(std::vector<std::string> front,
                                const std::vector<std::string>& back) {
  front.insert(front.end(), back.begin(), back.end());
  return front;
}

TEST(Mpmd, RanksAreNumberedThrough) {
  const result r =
      run({"-l", "-n", "2", test_child, "variable", "LCI_RANK", ":", "-n", "1", test_child,
           "variable", "LCI_SIZE", ":", "-np", "2", test_child, "variable", "LCI_JOB_ID"},
          {});
  EXPECT_EQ(r.code, 0) << r.error;
  const std::vector<std::string> lines = lines_of(r.out);
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_THAT(r.out, HasSubstr("[0] 0\n"));
  EXPECT_THAT(r.out, HasSubstr("[1] 1\n"));
  EXPECT_THAT(r.out, HasSubstr("[2] 5\n"));
  EXPECT_THAT(r.out, HasSubstr("[3] "));
  EXPECT_THAT(r.out, HasSubstr("[4] "));
}

TEST(Mpmd, EachProgramHasItsVariablesAndDirectory) {
  const char* const here = std::getenv("PWD");
  ASSERT_NE(here, nullptr);
  const std::string path = std::string(here) + "/" + test_child;
  const result r =
      run({"-l",       "-n",  "1", "-x",     "A_B=first", "--wdir",   "/",        path,
           "variable", "A_B", ":", "-n",     "1",         test_child, "variable", "A_B",
           ":",        "-n",  "1", "--wdir", "/",         path,       "directory"},
          {});
  EXPECT_EQ(r.code, 0) << r.error;
  EXPECT_THAT(lines_of(r.out), UnorderedElementsAre("[0] first", "[1] (unset)", "[2] /"));
}

// A variable LCRUN_* applies to every program.
TEST(Mpmd, VariablesOfLcrunApplyToEveryProgram) {
  const result r =
      run({"-l", test_child, "variable", "A_B", ":", "-n", "1", test_child, "variable", "A_B"}, {},
          "", {{"LCRUN_NP", "2"}, {"LCRUN_X", "A_B=all"}});
  EXPECT_EQ(r.code, 0) << r.error;
  EXPECT_THAT(lines_of(r.out), UnorderedElementsAre("[0] all", "[1] all", "[2] all"));
}

TEST(Mpmd, HostsRunTheProgramsOfTheirRanks) {
  const result r =
      run(joined(two_hosts, {"-l", "-n", "3", "-x", "A_B=first", test_child, "variable", "A_B", ":",
                             "-n", "1", test_child, "variable", "LCI_RANK"}),
          {});
  EXPECT_EQ(r.code, 0) << r.error;
  EXPECT_THAT(lines_of(r.out),
              UnorderedElementsAre("[0 a] first", "[1 a] first", "[2 b] first", "[3 b] 3"));
}

// A host does not need the programs of other hosts. The error names the missing program and its
// host.
TEST(Mpmd, AHostThatLacksAProgramIsNamed) {
  const result r = run(
      joined(two_hosts, {"-n", "2", test_child, "stay", ":", "-n", "2", "./no/such/program"}), {});
  EXPECT_EQ(r.code, 127);
  EXPECT_THAT(r.error, HasSubstr("./no/such/program"));
}

// Each host that is started by hand names its programs, as many as host 0.
TEST(Mpmd, HostsStartedByHandNameTheirPrograms) {
  for (const bool same : {true, false}) {
    const std::string uri = fresh_path("uri");
    command first({lcrun,       "--nnodes",     "2",        "--node-rank", "0",  "--iface",
                   "127.0.0.1", "--report-uri", uri,        "-l",          "-n", "1",
                   test_child,  "variable",     "LCI_RANK", ":",           "-n", "1",
                   test_child,  "variable",     "LCI_RANK"});
    std::vector<std::string> second = {
        lcrun, "--nnodes", "2", "--node-rank", "1", "--rdzv-endpoint", uri, test_child, "stay"};
    if (same) second = joined(second, {":", test_child, "variable", "LCI_SIZE"});
    command other(second);
    const result r = first.wait();
    const result there = other.wait();
    EXPECT_EQ(there.code, r.code) << there.error;
    if (same) {
      EXPECT_EQ(r.code, 0) << r.error;
      EXPECT_THAT(r.out, HasSubstr("] 0\n"));
      EXPECT_THAT(r.out, HasSubstr("] 2\n"));
    } else {
      EXPECT_EQ(r.code, 2);
      EXPECT_THAT(r.error, HasSubstr("another number of programs here (1) than on host 0 (2)"));
    }
  }
}

TEST(Mpmd, AColonAfterTwoDashesBelongsToTheProgram) {
  const result r = run({"-n", "1", "--", test_child, "variable", "A_B", ":", "-n", "1", "x"}, {});
  EXPECT_EQ(r.code, 0) << r.error;
  EXPECT_EQ(r.out, "(unset)\n");
}

TEST(Mpmd, AFailureNamesTheProgram) {
  const result r =
      run({"-n", "1", test_child, "stay", ":", "-n", "1", test_child, "exit-of-rank-1", "3"}, {});
  EXPECT_EQ(r.code, 3);
  EXPECT_THAT(r.error, HasSubstr(std::string("rank 1 (") + test_child + ") on "));
  EXPECT_THAT(run({"-n", "2"}, {test_child, "exit-of-rank-1", "3"}).error,
              Not(HasSubstr("(tools")));
}

TEST(Mpmd, DryRunNamesTheProgramOfEachRank) {
  const result r =
      run({"--dry-run", "-n", "1", test_child, "x", ":", "-n", "1", test_child, "y"}, {});
  EXPECT_EQ(r.code, 0) << r.error;
  const std::vector<std::string> lines = lines_of(r.out);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_THAT(lines[1], HasSubstr(std::string(test_child) + " x"));
  EXPECT_THAT(lines[2], HasSubstr(std::string(test_child) + " y"));
}

TEST(Mpmd, BadCommandLinesAreExplained) {
  struct row {
    std::vector<std::string> arguments;
    int code;
    const char* says;
  };
  const row rows[] = {
      {{"-n", "2", test_child, ":"}, 2, "no program on one side of a ':'"},
      {{":", "-n", "1", test_child}, 2, "no program on one side of a ':'"},
      {{"-n", "2", test_child, ":", test_child, "x"}, 2, "-n before each"},
      {{test_child, ":", "-n", "2", test_child}, 2, "-n before each"},
      {{"-n", "2", test_child, ":", "-n", "1", "--label", test_child},
       2,
       "--label applies to the whole job: give it before the first program"},
      {{"-n", "2", test_child, ":", "-n", "1", "-H", "a", test_child},
       2,
       "-H applies to the whole job"},
      {{"-n", "1", test_child, ":", "-n", "none", test_child}, 2, "none"},
      {{"-n", "1", test_child, ":", "-n", "1", "-x", "NO_SUCH", test_child}, 2, "NO_SUCH"},
      {{"-n", "1", test_child, ":", "-n", "1", "no-such-program"}, 127, "no-such-program"},
      {{"-n", "1", test_child, ":", "-n", "1", "--wdir", "/no/such", test_child}, 127, "/no/such"},
      {{"--stdin", "3", "-n", "1", test_child, ":", "-n", "2", test_child}, 2, "stdin"},
  };
  for (const row& mistake : rows) {
    const result r = run(mistake.arguments, {});
    EXPECT_EQ(r.code, mistake.code) << testing::PrintToString(mistake.arguments) << r.error;
    EXPECT_THAT(r.error, HasSubstr(mistake.says));
  }
}

}  // namespace
}  // namespace lci::launcher
