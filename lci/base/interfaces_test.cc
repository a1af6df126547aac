#include "lci/base/interfaces.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <algorithm>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lci/testing/no_descriptors/no_descriptors.h"

namespace lci::base {
namespace {

TEST(Interfaces, TheLoopbackIsListedWithItsNetwork) {
  const std::vector<interface_address> all = list_interface_addresses();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [](const auto& one) { return one.address == "127.0.0.1"; });
  if (found == all.end()) GTEST_SKIP() << "NOTHING WAS TESTED: no loopback is up";
  EXPECT_EQ(found->interface, "lo");
  EXPECT_EQ(found->network, "127.0.0.0/8");
  EXPECT_TRUE(found->is_loopback);
  EXPECT_TRUE(found->has_carrier);
  EXPECT_FALSE(found->is_v6);
  EXPECT_FALSE(found->is_link_local);
}

TEST(Interfaces, EachAddressIsInItsNetwork) {
  for (const interface_address& one : list_interface_addresses()) {
    EXPECT_FALSE(one.interface.empty());
    EXPECT_EQ(one.is_v6, one.address.find(':') != std::string::npos) << one.address;
    EXPECT_THAT(one.network, testing::MatchesRegex("[0-9a-f.:]+/[0-9]+")) << one.address;
    if (one.is_link_local) {
      EXPECT_THAT(one.address, testing::ContainsRegex("^(fe[89ab]|169[.]254[.])"));
    }
  }
}

TEST(Interfaces, AnAddressHasATextWithoutItsPort) {
  sockaddr_in v4 = {};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(80);
  inet_pton(AF_INET, "10.1.2.3", &v4.sin_addr);
  EXPECT_EQ(address_text(reinterpret_cast<const sockaddr&>(v4)), "10.1.2.3");
  sockaddr_in6 v6 = {};
  v6.sin6_family = AF_INET6;
  inet_pton(AF_INET6, "2001:db8::7", &v6.sin6_addr);
  EXPECT_EQ(address_text(reinterpret_cast<const sockaddr&>(v6)), "2001:db8::7");
  sockaddr_un local = {};
  local.sun_family = AF_UNIX;
  EXPECT_EQ(address_text(reinterpret_cast<const sockaddr&>(local)), "");
}

TEST(Interfaces, TheLoopbackIsKnownByItsAddress) {
  const auto is_loopback_v4 = [](const char* text) {
    sockaddr_in v4 = {};
    v4.sin_family = AF_INET;
    inet_pton(AF_INET, text, &v4.sin_addr);
    return is_loopback(reinterpret_cast<const sockaddr&>(v4));
  };
  const auto is_loopback_v6 = [](const char* text) {
    sockaddr_in6 v6 = {};
    v6.sin6_family = AF_INET6;
    inet_pton(AF_INET6, text, &v6.sin6_addr);
    return is_loopback(reinterpret_cast<const sockaddr&>(v6));
  };
  EXPECT_TRUE(is_loopback_v4("127.0.0.1"));
  EXPECT_TRUE(is_loopback_v4("127.0.1.1"));
  EXPECT_FALSE(is_loopback_v4("10.0.0.127"));
  EXPECT_TRUE(is_loopback_v6("::1"));
  EXPECT_FALSE(is_loopback_v6("::2"));
}

TEST(Interfaces, PacketsToTheLoopbackComeFromIt) {
  EXPECT_EQ(source_address("127.0.0.1"), "127.0.0.1");
  // Packets to an address of this host come from that address.
  for (const interface_address& one : list_interface_addresses()) {
    if (!one.is_link_local) {
      EXPECT_EQ(source_address(one.address), one.address);
    }
  }
}

TEST(Interfaces, WhatIsNoAddressHasNoSource) {
  EXPECT_EQ(source_address(""), "");
  EXPECT_EQ(source_address("localhost"), "");
  EXPECT_EQ(source_address("300.0.0.1"), "");
}

TEST(Interfaces, TheLoopbackIsUpWhereTestsRun) { EXPECT_FALSE(is_loopback_down()); }

TEST(Interfaces, WithoutADescriptorTheLoopbackIsNotCalledDown) {
  const no_descriptors none;
  EXPECT_TRUE(list_interface_addresses().empty());
  EXPECT_FALSE(is_loopback_down());
}

}  // namespace
}  // namespace lci::base
