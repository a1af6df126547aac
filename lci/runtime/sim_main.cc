// main of a test that runs over the simulated network, once for each of many seeds.
//
//   LCI_TEST_SEEDS=n     how many; 50
//   LCI_SIM_SEED=first   and from which on; 1
//   LCI_SIM_...          fixed for all of them: net/sim/settings.h
// The first seed that fails ends it, with the command that runs it again.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "gtest/gtest.h"
#include "lci/base/env.h"
#include "lci/net/sim/settings.h"
#include "lci/runtime/test_ranks.h"

namespace {

class seed_of_each_iteration : public testing::EmptyTestEventListener {
 public:
  explicit seed_of_each_iteration(int64_t first) : first_(first) {}
  void OnTestIterationStart(const testing::UnitTest&, int iteration) override {
    const std::string seed = std::to_string(first_ + iteration);
    setenv("LCI_SIM_SEED", seed.c_str(), 1);
    std::printf("seed %s\n", seed.c_str());
    std::fflush(stdout);
  }
  void OnTestIterationEnd(const testing::UnitTest& test, int) override {
    if (!test.Failed()) return;
    std::printf("failed; again: LCI_TEST_SEEDS=1 %s <this program>\n",
                lci::net::sim::settings::from_environment().value().to_string().c_str());
    std::fflush(stdout);
    std::_Exit(1);
  }

 private:
  const int64_t first_;
};

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
  testing::UnitTest::GetInstance()->listeners().Append(new seed_of_each_iteration(*first));
  return RUN_ALL_TESTS();
}
