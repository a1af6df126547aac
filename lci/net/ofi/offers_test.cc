#include "lci/net/ofi/offers.h"

#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lci::net::ofi {
namespace {

using testing::HasSubstr;

using addresses = std::vector<offered_address>;

const offered_address docker = {"172.17.0.1", "172.17.0.0/16"};

// A rank on the host of that number, with the provider net.
rank_offer on_host(uint64_t host, const addresses& offered) { return {host, {{"net", offered}}}; }

std::string no_route(const std::string&) { return ""; }

std::vector<std::string> choose(const std::vector<rank_offer>& ranks,
                                const find_source& source_of = no_route) {
  std::vector<std::string> chosen;
  for (size_t r = 0; r < ranks.size(); ++r) {
    const auto address = choose_address(ranks, "net", static_cast<int>(r), source_of);
    chosen.push_back(address.ok() ? *address : "error");
  }
  return chosen;
}

using chosen = std::vector<std::string>;

std::string choose_provider(const std::vector<std::vector<std::string>>& lists) {
  std::vector<rank_offer> ranks(lists.size());
  for (size_t r = 0; r < lists.size(); ++r) {
    for (const std::string& name : lists[r]) ranks[r].providers.push_back({name, {}});
  }
  const auto common = choose_common(ranks);
  return common.ok() ? *common : "error: " + std::string(common.status().message());
}

TEST(Offers, TheBestProviderThatAllRanksHaveIsChosen) {
  EXPECT_EQ(choose_provider({{"shm", "tcp;ofi_rxm", "net"}}), "net");
  EXPECT_EQ(choose_provider({{"net", "tcp;ofi_rxm"}, {"tcp", "tcp;ofi_rxm"}}), "tcp;ofi_rxm");
  EXPECT_EQ(choose_provider({{"net", "cxi"}, {"sockets", "net"}, {"net"}}), "net");
  EXPECT_EQ(choose_provider({{"strange"}, {"strange", "net"}}), "strange");
}

TEST(Offers, WithoutACommonProviderTheErrorListsTheProvidersOfEachRank) {
  EXPECT_THAT(choose_provider({{"net", "cxi"}, {"tcp;ofi_rxm"}}),
              testing::AllOf(HasSubstr("error"), HasSubstr("rank 0: net, cxi"),
                             HasSubstr("rank 1: tcp;ofi_rxm")));
}

TEST(Offers, TheFirstNetworkThatAllHaveIsChosen) {
  const offered_address slow0 = {"10.0.0.1", "10.0.0.0/24"}, slow1 = {"10.0.0.2", "10.0.0.0/24"};
  const offered_address fast0 = {"10.9.0.1", "10.9.0.0/16"}, fast1 = {"10.9.0.2", "10.9.0.0/16"};
  // The second host lists them the other way round.
  EXPECT_EQ(choose({on_host(1, {fast0, slow0}), on_host(2, {slow1, fast1})}),
            (chosen{"10.9.0.1", "10.9.0.2"}));
  // A third host has the slow one only.
  const offered_address slow2 = {"10.0.0.3", "10.0.0.0/24"};
  EXPECT_EQ(choose({on_host(1, {fast0, slow0}), on_host(2, {slow1, fast1}), on_host(3, {slow2})}),
            (chosen{"10.0.0.1", "10.0.0.2", "10.0.0.3"}));
}

TEST(Offers, AnAddressThatTwoHostsHaveIsNotUsed) {
  const offered_address eth0 = {"10.0.0.1", "10.0.0.0/24"}, eth1 = {"10.0.0.2", "10.0.0.0/24"};
  EXPECT_EQ(choose({on_host(1, {docker, eth0}), on_host(2, {docker, eth1})}),
            (chosen{"10.0.0.1", "10.0.0.2"}));
  // Two ranks of one host have all its addresses in common.
  EXPECT_EQ(
      choose({on_host(1, {docker, eth0}), on_host(1, {docker, eth0}), on_host(2, {docker, eth1})}),
      (chosen{"10.0.0.1", "10.0.0.1", "10.0.0.2"}));
}

TEST(Offers, ANetworkOfOneHostIsNotUsed) {
  const offered_address eth0 = {"10.0.0.1", "10.0.0.0/24"}, eth1 = {"10.0.0.2", "10.0.0.0/24"};
  EXPECT_EQ(choose({on_host(1, {docker, eth0}), on_host(2, {eth1})}),
            (chosen{"10.0.0.1", "10.0.0.2"}));
  EXPECT_EQ(choose({on_host(1, {eth0}), on_host(2, {docker, eth1})}),
            (chosen{"10.0.0.1", "10.0.0.2"}));
}

TEST(Offers, WithoutACommonNetworkTheRouteDecides) {
  // Networks of containers differ from host to host; a router is between the hosts.
  const std::vector<rank_offer> ranks = {
      on_host(1, {{"10.244.0.1", "10.244.0.0/24"}, {"10.1.0.7", "10.1.0.7/32"}}),
      on_host(2, {{"10.244.1.1", "10.244.1.0/24"}, {"10.2.0.7", "10.2.0.7/32"}})};
  std::map<std::string, int> asked;
  const auto route_of_first = [&](const std::string& to) -> std::string {
    ++asked[to];
    return to == "10.2.0.7" ? "10.1.0.7" : "";
  };
  EXPECT_EQ(choose_address(ranks, "net", 0, route_of_first).value(), "10.1.0.7");
  EXPECT_EQ(asked, (std::map<std::string, int>{{"10.244.1.1", 1}, {"10.2.0.7", 1}}));
  // From an address that is not offered, nothing is sent.
  EXPECT_EQ(choose_address(ranks, "net", 1, [](const std::string&) { return "10.3.0.1"; }).value(),
            "10.244.1.1");
}

TEST(Offers, WithoutARouteItIsTheFirstAddress) {
  EXPECT_EQ(
      choose({on_host(1, {docker, {"10.1.0.1", "10.1.0.0/24"}}),
              on_host(2, {docker, {"10.2.0.1", "10.2.0.0/24"}, {"10.3.0.1", "10.3.0.0/24"}})}),
      (chosen{"10.1.0.1", "10.2.0.1"}));
}

TEST(Offers, WithoutAnAddressNoneIsChosen) {
  EXPECT_EQ(choose({on_host(1, {}), on_host(2, {docker})}), (chosen{"", "172.17.0.1"}));
}

// As containers on two machines, each in a network of its own machine.
TEST(Offers, WithoutAnAddressOfItsOwnTheErrorNamesARankThatHasItToo) {
  const offered_address eth0 = {"10.0.0.1", "10.0.0.0/24"};
  const std::vector<rank_offer> ranks = {on_host(1, {eth0}), on_host(2, {docker}),
                                         on_host(2, {docker}), on_host(3, {docker})};
  EXPECT_EQ(choose(ranks), (chosen{"10.0.0.1", "error", "error", "error"}));
  EXPECT_THAT(std::string(choose_address(ranks, "net", 2, no_route).status().message()),
              testing::AllOf(HasSubstr("rank 2 and rank 3 both have the address 172.17.0.1"),
                             HasSubstr("device_name")));
}

TEST(Offers, OnlyTheChosenProviderCounts) {
  const offered_address eth0 = {"10.0.0.1", "10.0.0.0/24"}, eth1 = {"10.0.0.2", "10.0.0.0/24"};
  const rank_offer first = {1, {{"verbs", {docker}}, {"net", {docker, eth0}}}};
  const rank_offer second = {2, {{"verbs", {eth1}}, {"net", {eth1}}}};
  EXPECT_EQ(choose({first, second}), (chosen{"10.0.0.1", "10.0.0.2"}));
  EXPECT_EQ(choose_address({first, second}, "cxi", 0, no_route).value(), "");
}

TEST(Offers, TravelAsText) {
  const std::vector<provider_offer> offered = {
      {"cxi", {}},
      {"tcp;ofi_rxm", {docker, {"2001:db8::7", "2001:db8::/64"}}},
  };
  const std::string text = encode(offered);
  EXPECT_EQ(text, "cxi\ntcp;ofi_rxm 172.17.0.1 172.17.0.0/16 2001:db8::7 2001:db8::/64");
  const auto read = decode(text);
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->size(), 2u);
  EXPECT_EQ((*read)[0].provider, "cxi");
  EXPECT_TRUE((*read)[0].addresses.empty());
  ASSERT_EQ((*read)[1].addresses.size(), 2u);
  EXPECT_EQ((*read)[1].addresses[1].network, "2001:db8::/64");
  EXPECT_EQ(encode(*read), text);
}

TEST(Offers, OtherBytesAreAnError) {
  for (const char* text : {"", "net 10.0.0.1", "net\n\ncxi", " net"}) {
    const auto read = decode(text);
    EXPECT_FALSE(read.ok()) << text;
    EXPECT_THAT(std::string(read.status().message()), HasSubstr("no provider"));
  }
}

}  // namespace
}  // namespace lci::net::ofi
