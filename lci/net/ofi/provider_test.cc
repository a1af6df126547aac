#include "lci/net/ofi/provider.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lci::net::ofi {
namespace {

using testing::HasSubstr;

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
