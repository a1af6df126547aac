#include "lci/net/mixed/hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace lci::net::mixed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Hosts, AreRepeatedForFurtherRanks) {
  EXPECT_THAT(*parse_hosts("7", 3), ElementsAre(7, 7, 7));
  EXPECT_THAT(*parse_hosts("0,0,1", 5), ElementsAre(0, 0, 1, 0, 0));
  EXPECT_THAT(*parse_hosts("0,1,2", 2), ElementsAre(0, 1));
}

TEST(Hosts, AMalformedListNamesTheVariable) {
  for (const char* text : {"a", "0,,1", "-1", "0,"}) {
    const auto parsed = parse_hosts(text, 4);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_THAT(std::string(parsed.status().message()), HasSubstr("LCI_HOSTS"));
  }
}

TEST(Hosts, GroupRanks) {
  const std::vector<std::string> numbers = {"b", "a", "b", "c", "b"};
  const hosts of_b = group_by_host(numbers, 2);
  EXPECT_THAT(of_b.neighbors, ElementsAre(0, 2, 4));
  EXPECT_THAT(of_b.index, ElementsAre(0, -1, 1, -1, 2));
  EXPECT_EQ(of_b.largest, 3);
  const hosts of_c = group_by_host(numbers, 3);
  EXPECT_THAT(of_c.neighbors, ElementsAre(3));
  EXPECT_THAT(of_c.index, ElementsAre(-1, -1, -1, 0, -1));
  EXPECT_EQ(of_c.largest, 3);
  EXPECT_EQ(group_by_host({"a", "b"}, 0).largest, 1);
}

}  // namespace
}  // namespace lci::net::mixed
