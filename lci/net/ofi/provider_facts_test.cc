#include "lci/net/ofi/provider_facts.h"

#include <rdma/fabric.h>

#include "gtest/gtest.h"

namespace lci::net::ofi {
namespace {

TEST(ProviderFacts, HardwareComesBeforeSockets) {
  EXPECT_LT(preference("cxi"), preference("verbs;ofi_rxm"));
  EXPECT_LT(preference("verbs;ofi_rxm"), preference("tcp"));
  EXPECT_LT(preference("tcp"), preference("net"));
  EXPECT_LT(preference("net"), preference("tcp;ofi_rxm"));
  EXPECT_LT(preference("tcp;ofi_rxm"), preference("sockets"));
  EXPECT_LT(preference("sockets"), preference("shm"));
  EXPECT_LT(preference("shm"), preference("one nobody knows"));
}

TEST(ProviderFacts, TheLargestNumberIsNoLimit) {
  EXPECT_EQ(describe_size(~size_t{0}), "not limited");
  EXPECT_EQ(describe_size(65536), "65536");
}

TEST(ProviderFacts, NetIsChosenByItselfOnlyWhereItHasMatured) {
  EXPECT_FALSE(is_mature("net", FI_VERSION(116, 10)));
  EXPECT_TRUE(is_mature("net", FI_VERSION(117, 0)));
  EXPECT_TRUE(is_mature("tcp;ofi_rxm", FI_VERSION(111, 0)));
}

TEST(ProviderFacts, ReceivesGrowWithoutALayer) {
  EXPECT_TRUE(receives_grow("net"));
  EXPECT_TRUE(receives_grow("tcp"));
  EXPECT_FALSE(receives_grow("tcp;ofi_rxm"));
  EXPECT_FALSE(receives_grow("verbs;ofi_rxm"));
}

TEST(ProviderFacts, ADescriptorThatStaysReadableNeedsAWaitSet) {
  EXPECT_TRUE(needs_wait_set("net", FI_VERSION(117, 0)));
  EXPECT_TRUE(needs_wait_set("tcp", FI_VERSION(118, 0)));
  EXPECT_FALSE(needs_wait_set("tcp", FI_VERSION(118, 10)));
  EXPECT_FALSE(needs_wait_set("tcp;ofi_rxm", FI_VERSION(117, 0)));
}

TEST(ProviderFacts, ANameMayBeThatOfTheCore) {
  EXPECT_TRUE(names("tcp", "tcp;ofi_rxm"));
  EXPECT_TRUE(names("tcp;ofi_rxm", "tcp;ofi_rxm"));
  EXPECT_TRUE(names("net", "net"));
  EXPECT_FALSE(names("ofi_rxm", "tcp;ofi_rxm"));
  EXPECT_FALSE(names("tc", "tcp;ofi_rxm"));
  EXPECT_EQ(core_of("tcp;ofi_rxm"), "tcp");
  EXPECT_EQ(core_of("net"), "net");
}

TEST(ProviderFacts, ProvidersThatEndConnectionsAreAsked) {
  EXPECT_EQ(preferred_mode("tcp;ofi_rxm"), rma_mode::asked);
  EXPECT_EQ(preferred_mode("shm"), rma_mode::asked);
  EXPECT_EQ(preferred_mode("sockets"), rma_mode::native);
  EXPECT_EQ(preferred_mode("cxi"), rma_mode::native);
}

TEST(ProviderFacts, ProvidersOverTcp) {
  EXPECT_TRUE(is_over_tcp("tcp;ofi_rxm"));
  EXPECT_TRUE(is_over_tcp("net"));
  EXPECT_FALSE(is_over_tcp("verbs;ofi_rxm"));
  EXPECT_FALSE(is_over_tcp("shm"));
}

TEST(ProviderFacts, TheEagerLimitAllowsLargerPacketsOnlyOverTcp) {
  EXPECT_EQ(eager_limit_of("tcp;ofi_rxm"), 16384u);
  EXPECT_GE(eager_limit_of("net"), size_t{1} << 20);
  EXPECT_EQ(eager_limit_of("verbs;ofi_rxm"), 0u);
  EXPECT_EQ(eager_limit_of("shm"), 0u);
}

}  // namespace
}  // namespace lci::net::ofi
