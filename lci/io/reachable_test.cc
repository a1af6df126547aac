#include "lci/io/reachable.h"

#include <algorithm>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lci::io {
namespace {

using testing::IsEmpty;
using testing::Not;

TEST(reachable, has_addresses_of_this_host_those_of_ipv4_first) {
  const auto found = find_reachable();
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(found->addresses, Not(IsEmpty()));
  const auto is_v6 = [](const std::string& address) { return address[0] == '['; };
  EXPECT_TRUE(std::is_sorted(found->addresses.begin(), found->addresses.end(),
                             [&](const auto& a, const auto& b) { return is_v6(a) < is_v6(b); }));
  // A socket at [::] is reached over both.
  EXPECT_EQ(found->bind, is_v6(found->addresses.back()) ? "[::]" : "0.0.0.0");
}

TEST(reachable, an_address_stands_before_a_port) {
  base::interface_address one;
  one.address = "10.0.0.1";
  EXPECT_EQ(host_text(one), "10.0.0.1");
  one.address = "2001:db8::1";
  one.is_v6 = true;
  EXPECT_EQ(host_text(one), "[2001:db8::1]");
}

}  // namespace
}  // namespace lci::io
