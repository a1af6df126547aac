#include <cstdlib>
#include <vector>

#include "lci/net/conformance/suite.h"
#include "lci/net/mixed/backend.h"
#include "lci/net/ofi/provider.h"

namespace lci::net::conformance {
namespace {

// The hosts are LCI_HOSTS; the provider between them is LCI_TEST_PROVIDER.
std::vector<backend_under_test> all() {
  std::vector<backend_under_test> made;
  ofi::wanted_provider wanted;
  wanted.name = std::getenv("LCI_TEST_PROVIDER");
  wanted.one_host = true;
  if (!ofi::list_providers(wanted).ok()) return made;
  for (const bool processes : {false, true}) {
    for (int ranks = 3; ranks <= 4; ++ranks) {
      made.push_back({"mixed", &mixed::backend, ranks, processes, {wanted.name, ""}});
    }
  }
  return made;
}

INSTANTIATE_TEST_SUITE_P(Mixed, Conformance, testing::ValuesIn(all()), name_of);

TEST(MixedProvider, IsOnThisMachine) {
  if (all().empty()) GTEST_SKIP() << "NOTHING WAS TESTED: no " << std::getenv("LCI_TEST_PROVIDER");
  EXPECT_TRUE(mixed::has_given_hosts());
}

}  // namespace
}  // namespace lci::net::conformance
