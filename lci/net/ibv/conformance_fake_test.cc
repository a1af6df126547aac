// The conformance suite over simulated devices (fake_verbs.h).
#include <vector>

#include "lci/testing/conformance/suite.h"
#include "lci/testing/fake_verbs/fake_backend.h"
#include "lci/testing/fake_verbs/fake_verbs.h"

namespace lci::net::conformance {
namespace {

// Ranks that connect at start, and ranks that connect on demand. The latter lose datagrams, and up
// to five ranks take part, since fewer than four have no ranks that are not neighbors.
std::vector<backend_under_test> all() {
  ibv::settings_of_fake().datagrams_lost = 3;
  std::vector<backend_under_test> made;
  for (int ranks = 1; ranks <= 5; ++ranks) {
    if (ranks <= 4) made.push_back({"ibv", &ibv::fake_backend, ranks});
    context_config on_demand;
    on_demand.ibv_eager_ranks = 0;
    made.push_back({"late", &ibv::fake_backend, ranks, false, on_demand});
    made.back().connects_late = true;
  }
  for (backend_under_test& each : made) each.notifies = true;
  return made;
}

INSTANTIATE_TEST_SUITE_P(FakeIbv, Conformance, testing::ValuesIn(all()), name_of);

}  // namespace
}  // namespace lci::net::conformance
