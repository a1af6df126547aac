#include "tests/hangs/hung_job.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "gmock/gmock.h"
#include "tools/launcher/testing/lcrun_driver.h"

namespace hangs {
namespace {

// Whether the process has ended; it can still be waited for.
bool has_ended(pid_t pid) {
  siginfo_t info = {};
  return waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == pid;
}

auto has_finding(const std::string& finding) {
  return testing::ContainsRegex("\n  \\* " + finding);
}

// Whether the first report is complete: that of a rank ends with its devices.
bool has_report(const std::string& output) { return output.find("under way") != std::string::npos; }

bool has_all(const std::string& output, const std::vector<std::string>& findings) {
  return std::all_of(findings.begin(), findings.end(), [&output](const std::string& finding) {
    return testing::Value(output, has_finding(finding));
  });
}

}  // namespace

std::string name_of(const testing::TestParamInfo<hung_job>& job) {
  return std::string(job.param.name) + "_n" + std::to_string(job.param.ranks) + job.param.backend;
}

std::string report_of(const char* name, int ranks, const std::vector<std::string>& options,
                      const char* patience, const char* backend,
                      const std::vector<std::string>& findings) {
  std::vector<std::string> words;
  if (std::string(backend) == "sim") {
    words = {program_of_threads, std::to_string(ranks), name};
  } else {
    words = {lci::launcher::lcrun, "--oversubscribe", "-n", std::to_string(ranks)};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {program, name});
  }
  lci::launcher::command job(words, "",
                             {{"LCI_HANG_REPORT", patience}, {"LCI_ATTR_BACKEND", backend}});
  // A job that ends by itself has not hung.
  const auto wait_until = [&job](const auto& condition) {
    while (!condition() && !has_ended(job.pid())) usleep(1000);
  };
  wait_until([&] { return has_report(job.error_so_far()); });
  const auto end = std::chrono::steady_clock::now() + findings_patience;
  wait_until([&] {
    return has_all(job.error_so_far(), findings) || std::chrono::steady_clock::now() > end;
  });
  kill(job.pid(), SIGINT);
  kill(job.pid(), SIGINT);
  return job.wait().error;
}

void expect_named(const hung_job& job) {
  const std::string report =
      report_of(job.name, job.ranks, {}, job.patience, job.backend, job.findings);
  for (const std::string& finding : job.findings) EXPECT_THAT(report, has_finding(finding));
}

}  // namespace hangs
