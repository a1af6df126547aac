// Jobs that hang, for tests: what lcrun reports of them.
#ifndef TESTS_HANGS_HUNG_JOB_H_
#define TESTS_HANGS_HUNG_JOB_H_

#include <chrono>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace hangs {

constexpr char program[] = "tests/hangs/hang";
constexpr char program_of_threads[] = "tests/hangs/sim_hang";  // over the simulated network

// A job that hangs, and what its report has to say.
struct hung_job {
  const char* name;  // of a case in hang_cases.cc
  int ranks;
  std::vector<std::string> findings;  // regular expressions of lines
  const char* patience = "0.5";       // seconds
  const char* backend = "";           // empty: what the library chooses
};

// A patience that is longer than the time after which a device counts as one that nobody polls.
constexpr const char* long_patience = "3";

// The beginning of a regular expression of a wait.
constexpr const char* for_s = "for [0-9]+ s ";

std::string name_of(const testing::TestParamInfo<hung_job>& job);

// Returns the output of a job that hangs, up to the end of the first report and until it has these
// findings, too: on a loaded machine, a rank that comes late may be reported first. Gives up after
// findings_patience. Over the simulated network there is no lcrun, and `options` are not used.
std::string report_of(const char* name, int ranks, const std::vector<std::string>& options = {},
                      const char* patience = "0.5", const char* backend = "",
                      const std::vector<std::string>& findings = {});
constexpr std::chrono::seconds findings_patience{40};  // behind the first report

// Expects each finding in the report of the job.
void expect_named(const hung_job& job);

}  // namespace hangs

#endif  // TESTS_HANGS_HUNG_JOB_H_
