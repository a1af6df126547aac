// Separability of devices of the ofi backend. With these providers libfabric shares nothing either,
// because each device has a domain of its own.
#include <utility>
#include <vector>

#include "lci/net/ofi/provider.h"
#include "lci/testing/separability/separability.h"

namespace lci::separability {
namespace {

std::vector<parameter> all() {
  std::vector<network> networks;
  for (const auto& [name, provider] : {std::pair("tcp", "tcp;ofi_rxm"), std::pair("net", "net")}) {
    net::ofi::wanted_provider wanted;
    wanted.name = provider;
    wanted.one_host = true;
    if (!net::ofi::list_providers(wanted).ok()) continue;
    networks.push_back({name, attr_backend_t::ofi, provider, /*has_library=*/true});
  }
  return all_work_over(networks);
}

INSTANTIATE_TEST_SUITE_P(OverLibfabric, Separability, testing::ValuesIn(all()), name_of);

TEST(SeparabilityOverLibfabric, HasProviders) {
  if (all().empty()) GTEST_SKIP() << "NOTHING WAS TESTED: libfabric has neither tcp nor net";
}

}  // namespace
}  // namespace lci::separability
