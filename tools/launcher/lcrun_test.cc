// lcrun as a program: its output, its exit code, and the processes and files that it leaves behind.
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/launcher/testing/lcrun_driver.h"

namespace lci::launcher {
namespace {

using testing::HasSubstr;
using testing::Not;

// The options of the user.

TEST(Lcrun, GivesEveryRankItsPlace) {
  for (const char* n : {"-n", "-np"}) {
    const result r = run({n, "3", "-l"}, {test_child, "variable", "LCI_RANK"});
    EXPECT_EQ(r.code, 0) << r.error;
    std::vector<std::string> lines = lines_of(r.out);
    std::sort(lines.begin(), lines.end());
    EXPECT_EQ(lines, (std::vector<std::string>{"[0] 0", "[1] 1", "[2] 2"}));
  }
  EXPECT_EQ(run({"-n", "1"}, {test_child, "variable", "LCI_SIZE"}).out, "1\n");
  // HPX enables its LCI parcelport by this variable. Variables of MPI launchers would start MPI,
  // too.
  EXPECT_EQ(run({"-n", "2"}, {test_child, "variable", "LCT_PMI_FILE_NRANKS"}).out, "2\n2\n");
  for (const char* variable : {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_SIZE"}) {
    EXPECT_EQ(run({"-n", "1"}, {test_child, "variable", variable}).out, "(unset)\n") << variable;
  }
}

TEST(Lcrun, LeavesTheArgumentsOfTheProgramAlone) {
  EXPECT_EQ(run({"-n", "1"}, {test_child, "variable", "--help"}).out, "(unset)\n");
}

TEST(Lcrun, PassesVariables) {
  EXPECT_EQ(run({"-n", "1", "-x", "A_B=c d"}, {test_child, "variable", "A_B"}).out, "c d\n");
  EXPECT_EQ(run({"-n", "1", "-x", "A_B"}, {test_child, "variable", "A_B"}, "", {{"A_B", "e"}}).out,
            "e\n");
  const result r = run({"-n", "1", "-x", "NO_SUCH_VARIABLE"}, {test_child, "stay"});
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.error, HasSubstr("NO_SUCH_VARIABLE"));
}

// As after `export LCI_BOOT_TOKEN=...` for hosts that were started by hand, or within another job.
TEST(Lcrun, VariablesOfAnotherJobDoNotReachTheRanks) {
  for (const auto& [boot, name] :
       {std::pair("tcp", "LCI_BOOT_TOKEN"), std::pair("tcp", "LCI_BOOT_ADDR"),
        std::pair("file", "LCI_BOOT_DIR"), std::pair("tcp", "LCI_RANK")}) {
    const result r = run({"-n", "1", "--boot", boot}, {test_child, "variable", name}, "",
                         {{name, "of-another-job"}});
    EXPECT_EQ(r.code, 0) << r.error;
    EXPECT_THAT(r.out, Not(HasSubstr("of-another-job"))) << name;
    EXPECT_GT(r.out.size(), 1u) << name;
  }
}

TEST(Lcrun, TakesItsOptionsFromTheEnvironmentToo) {
  EXPECT_EQ(
      lines_of(run({}, {test_child, "variable", "LCI_SIZE"}, "", {{"LCRUN_NP", "3"}}).out).size(),
      3u);
  EXPECT_EQ(run({"-n", "1"}, {test_child, "variable", "LCI_SIZE"}, "", {{"LCRUN_NP", "3"}}).out,
            "1\n");
  const result r = run({}, {test_child, "stay"}, "", {{"LCRUN_NP", "many"}});
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.error, HasSubstr("LCRUN_NP"));
}

TEST(Lcrun, StartsInTheDirectoryAskedFor) {
  char here[4096];
  ASSERT_NE(getcwd(here, sizeof(here)), nullptr);
  const std::string path = std::string(here) + "/" + test_child;
  EXPECT_EQ(run({"-n", "1", "--wdir", "/"}, {path, "directory"}).out, "/\n");
  const result r = run({"-n", "1", "--wdir", "/no/such"}, {test_child, "stay"});
  EXPECT_EQ(r.code, 127);
  EXPECT_THAT(r.error, HasSubstr("/no/such"));
}

TEST(Lcrun, LabelledLinesAreNeverTorn) {
  const result r = run({"-n", "4", "--label"}, {test_child, "lines", "5000"});
  EXPECT_EQ(r.code, 0) << r.error;
  std::map<char, int> next;
  const std::vector<std::string> lines = lines_of(r.out);
  EXPECT_EQ(lines.size(), 20000u);
  for (const std::string& line : lines) {
    const char rank = line[1];
    const std::string expected = std::string("[") + rank + "] " + rank + " " +
                                 std::to_string(next[rank]++) + " 0123456789abcdef";
    ASSERT_EQ(line, expected);
  }
}

TEST(Lcrun, ALastLineWithoutNewlineIsALine) {
  const result r = run({"-n", "1", "-l"}, {test_child, "unfinished-line"});
  EXPECT_EQ(r.out, "[0] no newline\n");
}

TEST(Lcrun, OutputGoesToFiles) {
  const std::string dir = fresh_path("output") + "/of/this/job";
  const result r = run({"-n", "2", "--output-dir", dir}, {test_child, "variable", "LCI_RANK"});
  EXPECT_EQ(r.code, 0) << r.error;
  EXPECT_EQ(r.out, "");
  EXPECT_EQ(read_all(dir + "/rank.0.stdout"), "0\n");
  EXPECT_EQ(read_all(dir + "/rank.1.stdout"), "1\n");
  EXPECT_EQ(read_all(dir + "/rank.1.stderr"), "");
}

TEST(Lcrun, OneRankReadsStdin) {
  const std::string input(100000, 'i');
  EXPECT_THAT(run({"-n", "2", "-l"}, {test_child, "echo"}, input).out,
              HasSubstr("[0] 0 read 100000"));
  const result r = run({"-n", "2", "-l", "--stdin", "1"}, {test_child, "echo"}, input);
  EXPECT_THAT(r.out, HasSubstr("[1] 1 read 100000"));
  EXPECT_THAT(r.out, HasSubstr("[0] 0 read 0"));
  EXPECT_THAT(run({"-n", "1", "--stdin", "none"}, {test_child, "echo"}, input).out,
              HasSubstr("0 read 0"));
}

// The rank is not in the foreground process group. The kernel would stop it if it read the
// terminal.
TEST(Lcrun, ARankReadsWhatIsTypedAtTheTerminal) {
  int terminal = -1;
  const pid_t pid = forkpty(&terminal, nullptr, nullptr, nullptr);
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    execl(lcrun, lcrun, "-n", "2", test_child, "echo", nullptr);
    _exit(98);
  }
  const std::string typed = "typed\n\x04";  // with the end of the input
  ASSERT_EQ(write(terminal, typed.data(), typed.size()), static_cast<ssize_t>(typed.size()));
  std::string out;
  char block[1024];
  // The read fails when no process has the terminal open any more.
  for (ssize_t n; (n = read(terminal, block, sizeof(block))) > 0;) {
    out.append(block, static_cast<size_t>(n));
  }
  close(terminal);
  int status = -1;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0) << out;
  EXPECT_THAT(out, HasSubstr("0 read 6"));
  EXPECT_THAT(out, HasSubstr("1 read 0"));
}

TEST(Lcrun, DryRunStartsNothing) {
  const result r = run({"-n", "2", "--dry-run"}, {test_child, "exit-of-rank-1", "3"});
  EXPECT_EQ(r.code, 0);
  EXPECT_THAT(r.out, HasSubstr("rank 1 on "));
  EXPECT_THAT(r.out, HasSubstr("exit-of-rank-1 3"));
  const std::string quoted = run({"-n", "1", "--dry-run"}, {test_child, "a b", ""}).out;
  EXPECT_THAT(quoted, HasSubstr(": 1 rank of "));
  EXPECT_THAT(quoted, HasSubstr("test_child 'a b' ''\n"));
}

TEST(Lcrun, VerboseLinesAreNotEmpty) {
  EXPECT_THAT(run({"-n", "1", "-v"}, {test_child, "directory"}).error, Not(HasSubstr("\n\n")));
}

TEST(Lcrun, SaysWhatItIs) {
  EXPECT_THAT(run({"-V"}, {}).out, HasSubstr("lcrun"));
  const std::string help = run({"--help"}, {}).out;
  for (const char* option : {"-n", "-x", "--wdir", "--label", "--output-dir", "--stdin",
                             "--timeout", "--bind-to", "--boot", "--dry-run", "LCRUN_"}) {
    EXPECT_THAT(help, HasSubstr(option));
  }
  EXPECT_THAT(help, Not(HasSubstr("FILEwith")));
}

// Mistakes.

TEST(Lcrun, BadCommandLinesAreExplained) {
  struct row {
    std::vector<std::string> arguments;
    int code;
    const char* says;
  };
  const row rows[] = {
      {{"-n", "0", test_child}, 2, "0"},
      {{"-n", "-3", test_child}, 2, "-3"},
      {{"-n", "abc", test_child}, 2, "abc"},
      {{"--no-such-option", test_child}, 2, "no-such-option"},
      {{"-n", "2"}, 2, "program"},
      {{"-n"}, 2, "n"},
      {{"--stdin", "7", "-n", "2", test_child}, 2, "stdin"},
      {{"--bind-to", "moon", test_child}, 2, "moon"},
      {{"--boot", "carrier-pigeon", test_child}, 2, "carrier-pigeon"},
      {{"--host-timeout", "0", test_child}, 2, "host-timeout"},
      {{"--rdzv-endpoint", "a:5000", test_child}, 2, "--rdzv-endpoint needs --node-rank"},
      {{"--report-uri", "x", "-n", "2", test_child},
       2,
       "--report-uri is for jobs on several hosts"},
      {{"-n", "2", "no-such-program-anywhere"}, 127, "no-such-program-anywhere"},
      {{"-n", "2", "./no/such/program"}, 127, "./no/such/program"},
      {{"-n", "2", "/etc/passwd"}, 126, "\"/etc/passwd\" is not executable; make it so with chmod"},
      {{"-n", "2", "/etc"}, 126, "\"/etc\" is a directory"},
      {{"--node-rank", "5", "--nnodes", "2", "--rdzv-endpoint", "127.0.0.1:1", test_child},
       2,
       "--node-rank 5: --nnodes is 2, and hosts count from 0"},
      {{"--node-rank", "1", "--nnodes", "2", "--rdzv-endpoint", "127.0.0.1:1", test_child},
       2,
       "set LCI_BOOT_TOKEN"},
  };
  for (const row& mistake : rows) {
    const result r = run(mistake.arguments, {});
    EXPECT_EQ(r.code, mistake.code) << testing::PrintToString(mistake.arguments) << r.error;
    EXPECT_THAT(r.error, HasSubstr(mistake.says));
    EXPECT_THAT(r.error, HasSubstr("lcrun"));
  }
}

// Failures.

// Of a file that the kernel does not execute.
TEST(Lcrun, SaysWhyAProgramDoesNotStart) {
  struct row {
    const char* content;
    int code;
    const char* says;
  };
  const row rows[] = {
      {"no program\n", 126, "a script needs a first line such as #!/bin/sh"},
      {"#! /no/such/shell -e\n", 127, "its interpreter \"/no/such/shell\" does not exist"},
      {"#!/bin/sh\r\ntrue\r\n", 127, "convert the script to line ends of Unix"},
  };
  for (const row& file : rows) {
    const std::string path = fresh_path("script");
    std::ofstream(path) << file.content;
    ASSERT_EQ(chmod(path.c_str(), 0700), 0);
    const result r = run({"-n", "1"}, {path});
    EXPECT_EQ(r.code, file.code) << file.content;
    EXPECT_THAT(r.error, HasSubstr("can't run \"" + path + "\": ")) << file.content;
    EXPECT_THAT(r.error, HasSubstr(file.says)) << file.content;
  }
}

TEST(Lcrun, SaysThatHost0IsNotThere) {
  const result r = run({"--node-rank", "1", "--nnodes", "2", "--start-timeout", "0.05",
                        "--rdzv-endpoint", "/no/such/file"},
                       {test_child, "stay"});
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.error, HasSubstr("can't reach the lcrun of host 0 within 0.05 s (/no/such/file: "));
}

// What `lcrun options... test_child lines COUNT` does in a shell, in which the text `then` follows
// it.
result lines_in_shell(std::vector<std::string> options, const std::string& count,
                      const std::string& then) {
  options.insert(options.begin(),
                 {"/bin/bash", "-c", "\"$@\" " + then + "; exit ${PIPESTATUS[0]}", "bash", lcrun});
  options.insert(options.end(), {test_child, "lines", count});
  return command(options).wait();
}

// As without --label, where the ranks get SIGPIPE.
TEST(Lcrun, EndsTheJobWhenNobodyReadsItsOutput) {
  const result r =
      lines_in_shell({"-n", "2", "-l", "--timeout", "60"}, "2000000000", "| head -n 1");
  EXPECT_EQ(r.code, 128 + SIGPIPE) << r.error;
  EXPECT_THAT(r.error, HasSubstr("nobody reads the standard output any more: the job ends"));
}

TEST(Lcrun, SaysThatOutputIsLost) {
  const result r = lines_in_shell({"-n", "2", "-l"}, "3", "> /dev/full");
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.error, HasSubstr("can't write to the standard output: No space left on device"));
  EXPECT_EQ(lines_of(r.error).size(), 1u) << r.error;
}

TEST(Lcrun, SaysThatItsOwnOutputIsLost) {
  for (const char* option : {"--help", "--version", "--dry-run"}) {
    const result r = lines_in_shell({option}, "3", "> /dev/full");
    EXPECT_EQ(r.code, 1) << option;
    EXPECT_THAT(r.error, HasSubstr("can't write to the standard output: No space left on device"));
  }
}

TEST(Lcrun, SaysThatOutputOfAnotherHostIsLost) {
  const std::string dir = fresh_path("output");
  ASSERT_EQ(mkdir(dir.c_str(), 0700), 0);
  for (const char* file : {"/rank.0.stdout", "/rank.1.stdout"}) {
    ASSERT_EQ(symlink("/dev/full", (dir + file).c_str()), 0);
  }
  const result r = run({"-H", "elsewhere:2", "--launch-agent", "/bin/sh -c 'exec \"$@\"' %h",
                        "--iface", "127.0.0.1", "--output-dir", dir},
                       {test_child, "lines", "3"});
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.error, HasSubstr(".stdout: No space left on device; what the ranks write"));
  EXPECT_EQ(lines_of(r.error).size(), 1u) << r.error;
}

TEST(Lcrun, NamesTheFirstFailure) {
  const result r = run({"-n", "4"}, {test_child, "exit-of-rank-1", "7"});
  EXPECT_EQ(r.code, 7);
  EXPECT_THAT(r.error, HasSubstr("rank 1"));
  EXPECT_THAT(r.error, HasSubstr("exit code 7"));
  EXPECT_THAT(r.error, Not(HasSubstr("rank 2")));
}

TEST(Lcrun, NamesTheSignal) {
  const result r = run({"-n", "3"}, {test_child, "signal-of-rank-1", std::to_string(SIGKILL)});
  EXPECT_EQ(r.code, 128 + SIGKILL);
  EXPECT_THAT(r.error, HasSubstr("rank 1"));
  EXPECT_THAT(r.error, HasSubstr("SIGKILL"));
}

TEST(Lcrun, KillsWhoDoesNotGo) {
  const result r = run({"-n", "2", "--grace", "0"}, {test_child, "ignore-term"});
  EXPECT_EQ(r.code, 5);
}

TEST(Lcrun, TimesOut) {
  const result r = run({"-n", "2", "--timeout", "0.05"}, {test_child, "stay"});
  EXPECT_EQ(r.code, 124);
  EXPECT_THAT(r.error, HasSubstr("still running: ranks 0-1 on "));
}

// lcrun is stopped until its rank has ended and the time is over, and finds both together.
TEST(Lcrun, RanksThatHaveJustEndedHaveNotTimedOut) {
  constexpr std::chrono::milliseconds limit{200};
  const std::string pid_file = fresh_path("pid");
  command job({lcrun, "-n", "1", "--timeout", "0.2", test_child, "stop", pid_file});
  const pid_t rank = read_pid(pid_file);
  wait_until_stopped(rank);
  kill(job.pid(), SIGSTOP);
  wait_until_stopped(job.pid());
  const auto end = std::chrono::steady_clock::now() + limit;
  kill(rank, SIGCONT);
  wait_until_gone(rank);
  while (std::chrono::steady_clock::now() < end) sched_yield();
  kill(job.pid(), SIGCONT);
  const result r = job.wait();
  EXPECT_THAT(r.error, Not(HasSubstr("hosts")));
  // On a machine that is slow, the time may have been over before lcrun was stopped.
  const bool has_timed_out = r.error.find("stopped (by SIGSTOP") != std::string::npos;
  EXPECT_EQ(r.code, has_timed_out ? 124 : 0) << r.error;
}

TEST(Lcrun, MoreOutputThanThePipeHolds) {
  const result r = run({"-n", "2", "-l"}, {test_child, "bytes", "8388608"});
  EXPECT_EQ(r.code, 0) << r.error;
  EXPECT_EQ(std::count(r.out.begin(), r.out.end(), 'x'), 2 * 8388608);
}

TEST(Lcrun, ARankMayCloseItsStdout) {
  for (const bool label : {false, true}) {
    const result r = run({"-n", "2", label ? "-l" : "-v"}, {test_child, "close-stdout"});
    EXPECT_EQ(r.code, 0) << r.error;
    EXPECT_THAT(r.error, HasSubstr("still here"));
  }
}

TEST(Lcrun, ForwardsSignals) {
  const std::string ready = fresh_path("ready");
  command job({lcrun, "-n", "1", test_child, "on-usr1", ready});
  wait_for_file(ready);
  kill(job.pid(), SIGUSR1);
  const result r = job.wait();
  EXPECT_EQ(r.code, 0) << r.error;
  EXPECT_EQ(r.out, "got SIGUSR1\n");
}

TEST(Lcrun, EndsTheJobOnSigterm) {
  const std::string ready = fresh_path("ready");
  command job({lcrun, "-n", "1", test_child, "on-usr1", ready});
  wait_for_file(ready);
  kill(job.pid(), SIGTERM);
  EXPECT_EQ(job.wait().code, 128 + SIGTERM);
}

// Nothing is left behind.

TEST(Lcrun, EndsWhatARankLeavesBehind) {
  for (const char* what : {"leave-child", "leave-daemon"}) {
    for (const bool label : {false, true}) {
      const std::string pid_file = fresh_path("pid");
      const result r = run({"-n", "1", label ? "-l" : "-v"}, {test_child, what, pid_file});
      EXPECT_EQ(r.code, 0) << r.error;
      EXPECT_TRUE(is_gone(read_pid(pid_file))) << what;
    }
  }
}

TEST(Lcrun, LeavesNothingWhenItIsKilled) {
  const std::string pid_file = fresh_path("pid");
  command job({lcrun, "-n", "1", test_child, "leave-daemon-and-stay", pid_file});
  const pid_t daemon = read_pid(pid_file);
  // The rank is the child of lcrun that is not the orphan reaper.
  std::vector<pid_t> children;
  std::istringstream list(read_all("/proc/" + std::to_string(job.pid()) + "/task/" +
                                   std::to_string(job.pid()) + "/children"));
  for (pid_t child; list >> child;) children.push_back(child);
  EXPECT_GE(children.size(), 2u);
  kill(job.pid(), SIGKILL);
  EXPECT_EQ(job.wait().code, 128 + SIGKILL);
  wait_until_gone(daemon);
  for (pid_t child : children) wait_until_gone(child);
}

// The directory of --boot file.

// A directory for TMPDIR.
std::string fresh_directory() {
  std::string path = fresh_path("tmp");
  EXPECT_EQ(mkdir(path.c_str(), 0700), 0);
  return path;
}

std::vector<std::string> files_in(const std::string& path) {
  std::vector<std::string> files;
  DIR* dir = opendir(path.c_str());
  while (const dirent* entry = readdir(dir)) {
    if (entry->d_name[0] != '.') files.push_back(entry->d_name);
  }
  closedir(dir);
  return files;
}

TEST(Lcrun, TheDirectoryOfAJobEndsWithIt) {
  const std::string tmp = fresh_directory();
  const result r = run({"--boot", "file", "-n", "1"}, {test_child, "variable", "LCI_BOOT_DIR"}, "",
                       {{"TMPDIR", tmp}});
  EXPECT_EQ(r.code, 0) << r.error;
  EXPECT_THAT(r.out, HasSubstr(tmp + "/lcrun-"));
  EXPECT_TRUE(files_in(tmp).empty());
}

TEST(Lcrun, TheDirectoryOfAJobEndsWithItWhenLcrunIsKilled) {
  for (const int signal : {SIGTERM, SIGINT, SIGKILL}) {
    const std::string tmp = fresh_directory();
    const std::string pid_file = fresh_path("pid");
    command job({lcrun, "--grace", "0", "--boot", "file", "-n", "1", test_child,
                 "leave-daemon-and-stay", pid_file},
                "", {{"TMPDIR", tmp}});
    const pid_t daemon = read_pid(pid_file);
    const std::vector<std::string> before = files_in(tmp);
    ASSERT_EQ(before.size(), 1u);
    // A rank has files and directories there.
    const std::string inner = tmp + "/" + before[0] + "/job";
    EXPECT_EQ(mkdir(inner.c_str(), 0700), 0);
    std::ofstream(inner + "/file") << "text";
    kill(job.pid(), signal);
    EXPECT_EQ(job.wait().code, 128 + signal);
    wait_until_gone(daemon);
    // After SIGKILL the orphan reaper removes it. The time limit of the test is the only deadline.
    while (signal == SIGKILL && !files_in(tmp).empty()) sched_yield();
    EXPECT_TRUE(files_in(tmp).empty()) << signal;
  }
}

TEST(Lcrun, ADirectoryThatCannotBeMadeIsNamed) {
  const result r =
      run({"--boot", "file", "-n", "1"}, {test_child, "stay"}, "", {{"TMPDIR", "/no/such"}});
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.error, HasSubstr("can't make the job's directory /no/such/lcrun-"));
  EXPECT_THAT(r.error, HasSubstr("No such file or directory; set TMPDIR to a directory"));
}

}  // namespace
}  // namespace lci::launcher
