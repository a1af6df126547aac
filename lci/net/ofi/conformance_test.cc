#include <rdma/fabric.h>

#include <cstdlib>
#include <vector>

#include "lci/net/ofi/backend.h"
#include "lci/net/ofi/provider.h"
#include "lci/testing/conformance/suite.h"

namespace lci::net::conformance {
namespace {

// Runs with the provider LCI_TEST_PROVIDER and LCI_TEST_RANKS ranks, or with 1 to 4 ranks.
// LCI_TEST_GATHER, if set, is the attribute ofi_gather_size. On a machine without the provider
// nothing is instantiated; OfiProvider.IsOnThisMachine, which is then skipped, says so.
std::vector<backend_under_test> all() {
  const char* provider = std::getenv("LCI_TEST_PROVIDER");
  std::vector<backend_under_test> made;
  ofi::wanted_provider wanted;
  wanted.name = provider == nullptr ? "" : provider;
  wanted.one_host = true;
  if (!ofi::list_providers(wanted).ok()) return made;
  const char* only = std::getenv("LCI_TEST_RANKS");
  const int fixed = only == nullptr ? 0 : std::atoi(only);
  const char* gather = std::getenv("LCI_TEST_GATHER");
  for (const bool processes : {false, true}) {
    for (int ranks = 1; ranks <= 4; ++ranks) {
      if (fixed != 0 && ranks != fixed) continue;
      made.push_back({"ofi", &ofi::backend, ranks, processes});
      made.back().config.ofi_provider_name = wanted.name;
      if (gather != nullptr) made.back().device.ofi_gather_size = std::strtoul(gather, nullptr, 10);
      made.back().notifies = wanted.name != "shm";
      // A thread of this provider continues a put or get whose endpoint has been closed.
      made.back().uses_memory_late = wanted.name == "sockets";
    }
  }
  return made;
}

INSTANTIATE_TEST_SUITE_P(Ofi, Conformance, testing::ValuesIn(all()), name_of);

TEST(OfiProvider, IsOnThisMachine) {
  const char* provider = std::getenv("LCI_TEST_PROVIDER");
  ofi::wanted_provider wanted;
  wanted.name = provider == nullptr ? "" : provider;
  const auto found = ofi::list_providers(wanted);
  if (!found.ok()) GTEST_SKIP() << "NOTHING WAS TESTED: " << found.status();
  EXPECT_TRUE(ofi::names(wanted.name, found->front().provider));
}

}  // namespace
}  // namespace lci::net::conformance
