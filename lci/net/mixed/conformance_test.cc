#include <cstdlib>
#include <string>
#include <vector>

#include "lci/net/ibv/backend.h"
#include "lci/net/mixed/backend.h"
#include "lci/net/ofi/provider.h"
#include "lci/testing/conformance/suite.h"

namespace lci::net::conformance {
namespace {

// Between hosts, which are LCI_HOSTS: a provider of libfabric, or, if this is empty, ibv.
// LCI_TEST_PROCESSES: ranks are never threads.
const std::string& provider() {
  static const std::string name = std::getenv("LCI_TEST_PROVIDER");
  return name;
}

base::Status usable() {
  if (provider().empty()) return ibv::usable({});
  ofi::wanted_provider wanted;
  wanted.name = provider();
  wanted.one_host = true;
  return ofi::list_providers(wanted).status();
}

std::vector<backend_under_test> all() {
  std::vector<backend_under_test> made;
  if (!usable().ok()) return made;
  for (const bool processes : {false, true}) {
    if (!processes && std::getenv("LCI_TEST_PROCESSES") != nullptr) continue;
    for (int ranks = 3; ranks <= 4; ++ranks) {
      made.push_back({"mixed", &mixed::backend, ranks, processes});
      made.back().config.ofi_provider_name = provider();
    }
  }
  return made;
}

INSTANTIATE_TEST_SUITE_P(Mixed, Conformance, testing::ValuesIn(all()), name_of);

TEST(MixedProvider, IsOnThisMachine) {
  if (const base::Status found = usable(); !found.ok()) {
    GTEST_SKIP() << "NOTHING WAS TESTED: " << found;
  }
  EXPECT_TRUE(mixed::has_host_override());
}

}  // namespace
}  // namespace lci::net::conformance
