// main of a test that runs over the simulated network, once for each of many seeds.
//
//   LCI_TEST_SEEDS=n     how many; 50
//   LCI_SIM_SEED=first   and from which on; 1
//   LCI_SIM_...          fixed for all of them: net/sim/settings.h
// Each says first how to run it again, which does the same in the same order, up to where a test
// starts threads of its own (end_turns() in test_ranks.h). The first that fails ends it.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "lci/base/env.h"
#include "lci/net/sim/settings.h"
#include "lci/runtime/test_ranks.h"

namespace {

class seed_of_each_iteration : public testing::EmptyTestEventListener {
 public:
  seed_of_each_iteration(int64_t first, std::string program)
      : first_(first), program_(std::move(program)) {}
  void OnTestIterationStart(const testing::UnitTest&, int iteration) override {
    setenv("LCI_SIM_SEED", std::to_string(first_ + iteration).c_str(), 1);
    say("seed", "");
  }
  void OnTestEnd(const testing::TestInfo& test) override {
    if (!test.result()->Failed()) return;
    failed_ += absl::StrCat(failed_.empty() ? " --gtest_filter=" : ":", test.test_suite_name(), ".",
                            test.name());
  }
  void OnTestIterationEnd(const testing::UnitTest&, int) override {
    if (failed_.empty()) return;
    say("failed; again", failed_);
    std::_Exit(1);
  }

 private:
  // A line with the command that runs this seed again.
  void say(const char* what, const std::string& filter) const {
    std::printf("%s: LCI_TEST_SEEDS=1 %s %s%s\n", what,
                lci::net::sim::settings::from_environment().value().to_string().c_str(),
                program_.c_str(), filter.c_str());
    std::fflush(stdout);
  }

  const int64_t first_;
  const std::string program_;
  std::string failed_;
};

// As one types it in the repository, if Bazel has started it.
std::string name_of_program(const char* started_as) {
  const char* const target = std::getenv("TEST_BINARY");
  return target == nullptr ? std::string(started_as) : absl::StrCat("bazel-bin/", target);
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
  return RUN_ALL_TESTS();
}
