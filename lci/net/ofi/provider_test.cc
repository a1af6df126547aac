#include "lci/net/ofi/provider.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lci::net::ofi {
namespace {

using testing::HasSubstr;

std::string choose(const std::vector<std::vector<std::string>>& lists) {
  std::vector<rank_offer> ranks(lists.size());
  for (size_t r = 0; r < lists.size(); ++r) {
    for (const std::string& name : lists[r]) ranks[r].providers.push_back({name, {}});
  }
  const auto chosen = choose_common(ranks);
  return chosen.ok() ? *chosen : "error: " + std::string(chosen.status().message());
}

TEST(Provider, HardwareComesBeforeSockets) {
  EXPECT_LT(preference("cxi"), preference("verbs;ofi_rxm"));
  EXPECT_LT(preference("verbs;ofi_rxm"), preference("tcp"));
  EXPECT_LT(preference("tcp"), preference("net"));
  EXPECT_LT(preference("net"), preference("tcp;ofi_rxm"));
  EXPECT_LT(preference("tcp;ofi_rxm"), preference("sockets"));
  EXPECT_LT(preference("sockets"), preference("shm"));
  EXPECT_LT(preference("shm"), preference("one nobody knows"));
}

TEST(Provider, TheBestThatAllRanksHaveIsChosen) {
  EXPECT_EQ(choose({{"shm", "tcp;ofi_rxm", "net"}}), "net");
  EXPECT_EQ(choose({{"net", "tcp;ofi_rxm"}, {"tcp", "tcp;ofi_rxm"}}), "tcp;ofi_rxm");
  EXPECT_EQ(choose({{"net", "cxi"}, {"sockets", "net"}, {"net"}}), "net");
  EXPECT_EQ(choose({{"strange"}, {"strange", "net"}}), "strange");
}

TEST(Provider, NetIsChosenByItselfOnlyWhereItHasMatured) {
  EXPECT_FALSE(is_mature("net", FI_VERSION(116, 10)));
  EXPECT_TRUE(is_mature("net", FI_VERSION(117, 0)));
  EXPECT_TRUE(is_mature("tcp;ofi_rxm", FI_VERSION(111, 0)));
}

TEST(Provider, ReceivesGrowWithoutALayer) {
  EXPECT_TRUE(receives_grow("net"));
  EXPECT_TRUE(receives_grow("tcp"));
  EXPECT_FALSE(receives_grow("tcp;ofi_rxm"));
  EXPECT_FALSE(receives_grow("verbs;ofi_rxm"));
}

TEST(Provider, ADescriptorThatStaysReadableNeedsAWaitSet) {
  EXPECT_TRUE(needs_wait_set("net", FI_VERSION(117, 0)));
  EXPECT_TRUE(needs_wait_set("tcp", FI_VERSION(118, 0)));
  EXPECT_FALSE(needs_wait_set("tcp", FI_VERSION(118, 10)));
  EXPECT_FALSE(needs_wait_set("tcp;ofi_rxm", FI_VERSION(117, 0)));
}

TEST(Provider, WithoutACommonOneTheErrorListsTheProvidersOfEachRank) {
  EXPECT_THAT(choose({{"net", "cxi"}, {"tcp;ofi_rxm"}}),
              testing::AllOf(HasSubstr("error"), HasSubstr("rank 0: net, cxi"),
                             HasSubstr("rank 1: tcp;ofi_rxm")));
}

TEST(Provider, ANameMayBeThatOfTheCore) {
  EXPECT_TRUE(names("tcp", "tcp;ofi_rxm"));
  EXPECT_TRUE(names("tcp;ofi_rxm", "tcp;ofi_rxm"));
  EXPECT_TRUE(names("net", "net"));
  EXPECT_FALSE(names("ofi_rxm", "tcp;ofi_rxm"));
  EXPECT_FALSE(names("tc", "tcp;ofi_rxm"));
  EXPECT_EQ(core_of("tcp;ofi_rxm"), "tcp");
  EXPECT_EQ(core_of("net"), "net");
}

TEST(Provider, ProvidersThatEndConnectionsAreAsked) {
  EXPECT_EQ(preferred_mode("tcp;ofi_rxm"), rma_mode::asked);
  EXPECT_EQ(preferred_mode("shm"), rma_mode::asked);
  EXPECT_EQ(preferred_mode("sockets"), rma_mode::native);
  EXPECT_EQ(preferred_mode("cxi"), rma_mode::native);
}

TEST(Provider, ProvidersOverTcp) {
  EXPECT_TRUE(is_over_tcp("tcp;ofi_rxm"));
  EXPECT_TRUE(is_over_tcp("net"));
  EXPECT_FALSE(is_over_tcp("verbs;ofi_rxm"));
  EXPECT_FALSE(is_over_tcp("shm"));
}

TEST(Provider, TheEagerLimitAllowsLargerPacketsOnlyOverTcp) {
  EXPECT_EQ(eager_limit_of("tcp;ofi_rxm"), 16384u);
  EXPECT_GE(eager_limit_of("net"), size_t{1} << 20);
  EXPECT_EQ(eager_limit_of("verbs;ofi_rxm"), 0u);
  EXPECT_EQ(eager_limit_of("shm"), 0u);
}

TEST(Provider, TheErrorNamesAMissingProvider) {
  wanted_provider wanted;
  wanted.name = "nonesuch";
  const auto found = list_providers(wanted);
  ASSERT_FALSE(found.ok());
  EXPECT_THAT(std::string(found.status().message()),
              testing::AllOf(HasSubstr("nonesuch"), HasSubstr("ofi_provider_name")));
  EXPECT_FALSE(find_provider(wanted).ok());
}

TEST(Provider, TheRequestedAddressIsUsed) {
  int tried = 0;
  wanted_provider wanted;
  const auto offers = list_providers(wanted);
  ASSERT_TRUE(offers.ok()) << offers.status();
  for (const provider_offer& offer : *offers) {
    for (const offered_address& one : offer.addresses) {
      ++tried;
      wanted.name = offer.provider;
      wanted.address = one.address;
      const auto found = find_provider(wanted);
      ASSERT_TRUE(found.ok()) << found.status();
      EXPECT_THAT(found->place(), testing::StartsWith(one.address + " on ")) << offer.provider;
    }
  }
  if (tried == 0) GTEST_SKIP() << "NOTHING WAS TESTED: no address that other hosts reach";
}

// Only those that other hosts may reach.
TEST(Provider, LoopbackAndLinkLocalAddressesAreNotOffered) {
  const auto offers = list_providers({});
  ASSERT_TRUE(offers.ok()) << offers.status();
  for (const provider_offer& offer : *offers) {
    EXPECT_LE(offer.addresses.size(), max_offered_addresses);
    for (const offered_address& one : offer.addresses) {
      EXPECT_THAT(one.address, testing::Not(testing::ContainsRegex("^(127|169.254|::1|fe80)")));
    }
  }
}

TEST(Provider, TheRequestedInterfaceIsUsed) {
  int tried = 0;
  for (const char* name : {"tcp", "net", "sockets"}) {
    wanted_provider wanted;
    wanted.name = name;
    wanted.interface = "lo";
    if (!list_providers(wanted).ok()) continue;
    ++tried;
    // Even where the loopback would not be chosen by itself.
    wanted.one_host = false;
    const auto found = find_provider(wanted);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_STREQ(found->info->domain_attr->name, "lo") << name;
    wanted.interface = "nonesuch0";
    const auto missing = list_providers(wanted);
    ASSERT_FALSE(missing.ok()) << name;
    EXPECT_THAT(std::string(missing.status().message()),
                testing::AllOf(HasSubstr("nonesuch0"), HasSubstr("device_name"), HasSubstr("lo")));
    EXPECT_FALSE(find_provider(wanted).ok()) << name;
  }
  if (tried == 0) GTEST_SKIP() << "NOTHING WAS TESTED: no provider has an interface lo";
}

}  // namespace
}  // namespace lci::net::ofi
