// The main function of a test that runs over the simulated network, once for each of many seeds.
//
//   LCI_TEST_SEEDS=n     number of seeds; default 50
//   LCI_SIM_SEED=first   first seed; default 1
//   LCI_SIM_...          settings of the network, for all seeds: net/sim/settings.h
//
// Each says first how to run it again, which does the same in the same order, up to where a test
// starts threads of its own (end_turns() in ranks.h). The first that fails, is stopped or ends
// the process says it again.
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "lci/base/env.h"
#include "lci/base/strings.h"
#include "lci/net/sim/settings.h"
#include "lci/testing/ranks/ranks.h"

namespace {

// The report of the current seed for a signal handler. Written while no other thread runs.
char last_words[2000];

// Handles the end by abort() and by a timeout (SIGTERM from Bazel).
void die(int signal_number) {
  // There is no other way to report an error of write.
  if (write(STDOUT_FILENO, last_words, std::strlen(last_words)) < 0) _exit(2);
  std::signal(signal_number, SIG_DFL);
  std::raise(signal_number);
}

class seed_of_each_iteration : public testing::EmptyTestEventListener {
 public:
  seed_of_each_iteration(int64_t first, std::string program)
      : first_(first), program_(std::move(program)) {}
  void OnTestIterationStart(const testing::UnitTest&, int iteration) override {
    setenv("LCI_SIM_SEED", std::to_string(first_ + iteration).c_str(), 1);
    const std::string command = again();
    std::printf("seed: %s\n", command.c_str());
    std::fflush(stdout);
    std::snprintf(last_words, sizeof(last_words), "failed; again: %s\n", command.c_str());
  }
  void OnTestEnd(const testing::TestInfo& test) override {
    if (!test.result()->Failed()) return;
    failed_ += lci::base::StrCat(failed_.empty() ? " --gtest_filter=" : ":", test.test_suite_name(),
                                 ".", test.name());
  }
  void OnTestIterationEnd(const testing::UnitTest&, int) override {
    if (failed_.empty()) return;
    std::printf("failed; again: %s%s\n", again().c_str(), failed_.c_str());
    std::fflush(stdout);
    std::_Exit(1);
  }

 private:
  // The command that runs this seed alone.
  std::string again() const {
    return lci::base::StrCat("LCI_TEST_SEEDS=1 ",
                             lci::net::sim::settings::from_environment().value().to_string(), " ",
                             program_);
  }

  const int64_t first_;
  const std::string program_;
  std::string failed_;
};

// The path from the root of the repository if Bazel has started the program.
std::string name_of_program(const char* started_as) {
  const char* const target = std::getenv("TEST_BINARY");
  return target == nullptr ? std::string(started_as) : lci::base::StrCat("bazel-bin/", target);
}

}  // namespace

int main(int argc, char** argv) {
  lci::simulated() = true;
  testing::InitGoogleTest(&argc, argv);
  const auto first = lci::base::env_int64("LCI_SIM_SEED", 1, 0, 1000000000);
  const auto count = lci::base::env_int64("LCI_TEST_SEEDS", 50, 1, 1000000);
  if (!first.ok() || !count.ok()) {
    std::fprintf(stderr, "%s %s\n", std::string(first.status().message()).c_str(),
                 std::string(count.status().message()).c_str());
    return 2;
  }
  testing::GTEST_FLAG(repeat) = static_cast<int>(*count);
  testing::UnitTest::GetInstance()->listeners().Append(
      new seed_of_each_iteration(*first, name_of_program(argv[0])));
  for (int each : {SIGABRT, SIGTERM}) std::signal(each, die);
  return RUN_ALL_TESTS();
}
