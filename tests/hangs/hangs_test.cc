// Jobs that hang: each is reported within seconds, by lcrun, with what is wrong in the findings.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/hangs/hung_job.h"
#include "tests/hangs/hung_jobs.h"
#include "tools/launcher/testing/lcrun_driver.h"

namespace {

using lci::launcher::command;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

using hangs::hung_job;
using hangs::name_of;
using hangs::report_of;
constexpr const char* hang = hangs::program;

class Hang : public testing::TestWithParam<hung_job> {};

TEST_P(Hang, IsNamed) { hangs::expect_named(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Receives, Hang, testing::ValuesIn(hangs::receive_jobs()), name_of);

INSTANTIATE_TEST_SUITE_P(LargeMessages, Hang, testing::ValuesIn(hangs::large_message_jobs()),
                         name_of);

INSTANTIATE_TEST_SUITE_P(Collectives, Hang, testing::ValuesIn(hangs::collective_jobs()), name_of);

INSTANTIATE_TEST_SUITE_P(Objects, Hang, testing::ValuesIn(hangs::object_jobs()), name_of);

INSTANTIATE_TEST_SUITE_P(Processes, Hang, testing::ValuesIn(hangs::process_jobs()), name_of);

// Ranks that share memory see it themselves, and do not hang.
struct mistake {
  const char* name;
  int ranks;
  std::string error;  // regular expression
};

// The rank that finds it names itself first.
std::string one_calls(const std::string& one, const std::string& other) {
  const std::string number = "the ranks call different collective operations: as number 1, ";
  return number + "(" + one + ", and " + other + "|" + other + ", and " + one + ")";
}

class Mistake : public testing::TestWithParam<mistake> {};

TEST_P(Mistake, EndsTheJobAndIsNamed) {
  const auto ended = lci::launcher::run({"--oversubscribe", "-n", std::to_string(GetParam().ranks)},
                                        {hang, GetParam().name}, "", {{"LCI_HANG_REPORT", "0"}});
  EXPECT_NE(ended.code, 0);
  EXPECT_THAT(ended.error, ContainsRegex(GetParam().error));
}

INSTANTIATE_TEST_SUITE_P(
    Collectives, Mistake,
    testing::Values(mistake{"other_collective", 4,
                            one_calls("rank 0 calls barrier",
                                      "rank [1-3] calls allreduce of 4 bytes in items "
                                      "of 4 bytes")},
                    mistake{"collective_in_other_order", 3,
                            one_calls("rank [12] calls barrier",
                                      "rank 0 calls allreduce of 4 bytes in items of 4 bytes")},
                    mistake{"finalizes_early", 2,
                            one_calls("rank 0 calls barrier", "rank 1 calls free_runtime")}),
    [](const testing::TestParamInfo<mistake>& tried) {
      return std::string(tried.param.name) + "_n" + std::to_string(tried.param.ranks);
    });

// The place is the line of the program, not one of the library. It is in `wait`, which compilers
// may inline into `wait_for_message`.
TEST(Report, SaysWhereTheCallWasMade) {
  EXPECT_THAT(report_of("missing_send", 2),
              ContainsRegex("called at hang\\(hangs::\\(anonymous namespace\\)::wait(_for_message)?"
                            "\\("));
}

// The report of a blocking post, of the state of a large message, and of the device.
TEST(Report, SaysWhatABlockingPostWaitsFor) {
  const std::string report = report_of("blocking_send", 2);
  EXPECT_THAT(report, ContainsRegex("has waited for [0-9]+ s in post_send, for rank 1 \\(tag 5, "
                                    "1048576 bytes\\), called at "));
  EXPECT_THAT(report, HasSubstr("large message to rank 1, 1048576 bytes, tag 5, announced and not "
                                "answered, on device 0\n"));
  EXPECT_THAT(report, ContainsRegex("; [0-9]+ of 65536 packets out, 0 operations in the backlog, 1 "
                                    "large messages under way"));
}

// Nothing is asked by itself, but lcrun asks when the time is over.
TEST(Report, ComesAtTheTimeout) {
  const std::string report = report_of("missing_in_barrier", 2, {"--timeout", "1"}, "0");
  EXPECT_THAT(report, HasSubstr("state of the job (--timeout: still running: ranks 0-1 on "));
  EXPECT_THAT(report, HasSubstr("rank 0 is not in barrier #1"));
}

TEST(Report, ComesOnASignalToLcrun) {
  command job({lci::launcher::lcrun, "--oversubscribe", "-n", "2", hang, "nothing"}, "",
              {{"LCI_HANG_REPORT", "0"}});
  // Before the ranks have joined, the signal is passed on to them, and would end them.
  while (job.error_so_far().find("ready\nready\n") == std::string::npos) usleep(1000);
  kill(job.pid(), SIGUSR1);
  while (job.error_so_far().find("under way") == std::string::npos) usleep(1000);
  kill(job.pid(), SIGINT);
  EXPECT_THAT(job.wait().error, AllOf(HasSubstr("state of the job (SIGUSR1 to lcrun): 2 of 2"),
                                      HasSubstr("* nothing waits")));
}

// lcrun --report, as in another terminal: `directory` is that of the job.
lci::launcher::result ask(const std::string& directory, const std::vector<std::string>& words) {
  return lci::launcher::run({"--report", "--report-dir", directory}, words);
}

TEST(Report, GoesToTheTerminalThatAsks) {
  const std::string directory = lci::launcher::fresh_path("reports");
  // The ranks of several hosts, whose helpers the agent starts on this host.
  const auto start = [&](const char* name, const char* hosts) {
    return command({lci::launcher::lcrun, "--oversubscribe", "--report-dir", directory, "-H", hosts,
                    "--launch-agent", "env -u %h", hang, name},
                   "", {{"LCI_HANG_REPORT", "0"}});
  };
  EXPECT_THAT(ask(directory, {}).error, HasSubstr("lcrun: there is no job of this user"));

  command job = start("missing_in_barrier", "a:1,b:1");
  // The job answers before its ranks wait.
  lci::launcher::result report;
  do {
    report = ask(directory, {});
  } while (report.out.find("is not in barrier #1") == std::string::npos);
  EXPECT_EQ(report.code, 0);
  EXPECT_EQ(report.error, "");
  EXPECT_THAT(report.out, HasSubstr("state of the job (lcrun --report): 2 of 2 ranks answered"));

  // By the id, which the list of several jobs shows.
  command other = start("nothing", "a:2");
  while (ask(directory, {}).code == 0) {
  }
  report = ask(directory, {});
  EXPECT_EQ(report.code, 1);
  EXPECT_EQ(report.out, "");
  EXPECT_THAT(report.error, HasSubstr("lcrun: there are several jobs; name one of\n"));
  EXPECT_THAT(report.error, HasSubstr("  2 ranks of tests/hangs/hang missing_in_barrier\n"));
  const std::vector<std::string> lines = lci::launcher::lines_of(report.error);
  ASSERT_EQ(lines.size(), 3u);
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::string id = lines[i].substr(2, lines[i].find(' ', 2) - 2);
    do {
      report = ask(directory, {id, "--report-format=json"});
    } while (report.error.find("no rank uses LCI now") != std::string::npos);
    EXPECT_EQ(report.code, 0) << report.error;
    EXPECT_THAT(report.out, testing::StartsWith("{\"reason\": \"lcrun --report\""));
  }
  report = ask(directory, {"0123"});
  EXPECT_EQ(report.code, 1);
  EXPECT_THAT(report.error, HasSubstr("there is no job 0123 of this user"));
  EXPECT_THAT(report.error, HasSubstr("; there are\n"));

  for (const pid_t lcrun : {job.pid(), other.pid()}) kill(lcrun, SIGINT);
  EXPECT_THAT(job.wait().error, Not(HasSubstr("state of the job")));
  other.wait();
  EXPECT_THAT(ask(directory, {}).error, HasSubstr("lcrun: there is no job of this user"));
}

TEST(Report, OfAJobWithoutTheLibrarySaysSo) {
  const std::string directory = lci::launcher::fresh_path("reports");
  for (const char* boot : {"tcp", "file"}) {
    command job({lci::launcher::lcrun, "--boot", boot, "--report-dir", directory, "-n", "1",
                 "/bin/sleep", "1000"});
    lci::launcher::result report;
    do {
      report = ask(directory, {});
    } while (report.error.find("there is no job") != std::string::npos);
    EXPECT_EQ(report.code, 1);
    EXPECT_THAT(report.error, HasSubstr(std::string(boot) == "tcp" ? "no rank uses LCI now"
                                                                   : "with --boot file"));
    kill(job.pid(), SIGTERM);
    job.wait();
  }
}

TEST(Report, OfAStoppedLcrunIsAnError) {
  const std::string directory = lci::launcher::fresh_path("reports");
  command job({lci::launcher::lcrun, "--report-dir", directory, "-n", "1", "/bin/sleep", "1000"});
  while (ask(directory, {}).error.find("no rank uses LCI now") == std::string::npos) {
  }
  kill(job.pid(), SIGSTOP);
  lci::launcher::wait_until_stopped(job.pid());
  const lci::launcher::result report = ask(directory, {});
  EXPECT_EQ(report.code, 1);
  EXPECT_THAT(report.error, HasSubstr("does not answer within"));
  kill(job.pid(), SIGCONT);
  kill(job.pid(), SIGTERM);
  job.wait();
}

TEST(Report, RefusesOtherWords) {
  const lci::launcher::result report = ask("/tmp", {"1", "2"});
  EXPECT_EQ(report.code, 2);
  EXPECT_THAT(report.error, HasSubstr("unexpected argument 2"));
}

TEST(Report, NamesARankThatHasNotJoined) {
  command job({lci::launcher::lcrun, "--oversubscribe", "--timeout", "2", "-n", "2", hang, "late"});
  const std::string error = job.wait().error;
  EXPECT_THAT(error, HasSubstr("state of the job (--timeout: still running: ranks 0-1"));
  EXPECT_THAT(error, HasSubstr("* rank 0 waits in g_runtime_init for the ranks that have not"));
  EXPECT_THAT(error, HasSubstr("* rank 1 runs, and has not called g_runtime_init yet"));
}

}  // namespace
