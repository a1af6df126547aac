#include <cstdlib>
#include <vector>

#include "lci/net/ibv/backend.h"
#include "lci/testing/conformance/suite.h"

namespace lci::net::conformance {
namespace {

// Runs with LCI_TEST_RANKS ranks, or with 1 to 4. LCI_TEST_EAGER_RANKS, if set, is the attribute
// ibv_eager_ranks (0: connect on demand). With LCI_TEST_PROCESSES, ranks are never threads. On a
// machine without a device nothing is instantiated; IbvDevice.IsOnThisMachine, which is then
// skipped, says so.
std::vector<backend_under_test> all() {
  std::vector<backend_under_test> made;
  if (!ibv::usable({}).ok()) return made;
  const char* only = std::getenv("LCI_TEST_RANKS");
  const int fixed = only == nullptr ? 0 : std::atoi(only);
  const char* eager = std::getenv("LCI_TEST_EAGER_RANKS");
  context_config config;
  if (eager != nullptr) config.ibv_eager_ranks = std::atoi(eager);
  for (const bool processes : {false, true}) {
    for (int ranks = fixed == 0 ? 1 : fixed; ranks <= (fixed == 0 ? 4 : fixed); ++ranks) {
      if (!processes && std::getenv("LCI_TEST_PROCESSES") != nullptr) continue;
      made.push_back({"ibv", &ibv::backend, ranks, processes, config});
      made.back().connects_late = ranks > config.ibv_eager_ranks;
      made.back().notifies = true;
    }
  }
  return made;
}

INSTANTIATE_TEST_SUITE_P(Ibv, Conformance, testing::ValuesIn(all()), name_of);

TEST(IbvDevice, IsOnThisMachine) {
  const base::Status found = ibv::usable({});
  if (!found.ok()) GTEST_SKIP() << "NOTHING WAS TESTED: " << found;
}

}  // namespace
}  // namespace lci::net::conformance
