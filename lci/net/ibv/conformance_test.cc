#include <cstdlib>
#include <vector>

#include "lci/net/conformance/suite.h"
#include "lci/net/ibv/backend.h"

namespace lci::net::conformance {
namespace {

// With LCI_TEST_RANKS ranks, or with each of 1 to 4, and with LCI_TEST_EAGER_RANKS for the
// attribute ibv_eager_ranks (0: connected on first use), if that is set. LCI_TEST_PROCESSES: ranks
// are never threads. Without a device on this machine there is nothing to instantiate; that is said
// by a test of its own, which is skipped.
std::vector<backend_under_test> all() {
  std::vector<backend_under_test> made;
  if (!ibv::usable({}).ok()) return made;
  const char* only = std::getenv("LCI_TEST_RANKS");
  const int given = only == nullptr ? 0 : std::atoi(only);
  const char* eager = std::getenv("LCI_TEST_EAGER_RANKS");
  context_config config;
  if (eager != nullptr) config.ibv_eager_ranks = std::atoi(eager);
  for (const bool processes : {false, true}) {
    for (int ranks = given == 0 ? 1 : given; ranks <= (given == 0 ? 4 : given); ++ranks) {
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
