#include "tools/info/info.h"

#include <cstdlib>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lci::info {
namespace {

using testing::HasSubstr;
using testing::Not;

const attribute_info& attribute(const std::vector<attribute_info>& all, const std::string& name) {
  for (const attribute_info& each : all) {
    if (each.name == name) return each;
  }
  throw std::runtime_error("no attribute " + name);
}

TEST(info, says_where_the_value_of_an_attribute_comes_from) {
  unsetenv("LCI_ATTR_PACKET_SIZE");
  EXPECT_FALSE(attribute(attributes().value(), "packet_size").is_from_environment);
  setenv("LCI_ATTR_PACKET_SIZE", "4k", 1);
  const std::vector<attribute_info> all = attributes().value();
  unsetenv("LCI_ATTR_PACKET_SIZE");
  const attribute_info& size = attribute(all, "packet_size");
  EXPECT_TRUE(size.is_from_environment);
  EXPECT_EQ(size.value, "4096");
  EXPECT_EQ(size.builtin, "8192");
  EXPECT_EQ(size.resource, "packet pool");
  EXPECT_EQ(size.variable, "LCI_ATTR_PACKET_SIZE");
  EXPECT_EQ(attribute(all, "backend").builtin, "auto");
  EXPECT_THAT(attribute(all, "backend").values, HasSubstr("shm"));
}

TEST(info, a_bad_value_is_an_error_that_names_the_variable) {
  setenv("LCI_ATTR_NPACKETS", "many", 1);
  const auto all = collect();
  unsetenv("LCI_ATTR_NPACKETS");
  ASSERT_FALSE(all.ok());
  EXPECT_THAT(std::string(all.status().message()), HasSubstr("LCI_ATTR_NPACKETS"));
}

// Shared memory is on every host where tests run, an adapter on few.
TEST(info, says_of_each_backend_whether_it_can_be_used_and_why_not) {
  const std::vector<backend_info> all = backends();
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(all[0].name, "shm");
  EXPECT_TRUE(all[0].is_usable);
  for (const backend_info& each : all) {
    EXPECT_EQ(each.is_usable, each.reason.empty()) << each.name;
    EXPECT_TRUE(each.is_usable || each.facts.empty()) << each.name;
  }
}

TEST(info, secrets_are_not_shown) {
  setenv("LCI_BOOT_TOKEN", "very-secret", 1);
  const info all = collect().value();
  unsetenv("LCI_BOOT_TOKEN");
  EXPECT_THAT(as_text(all), Not(HasSubstr("very-secret")));
  EXPECT_THAT(as_json(all), Not(HasSubstr("very-secret")));
}

TEST(info, unknown_variables_are_named) {
  setenv("LCI_ATTR_PAKET_SIZE", "1", 1);
  const info all = collect().value();
  unsetenv("LCI_ATTR_PAKET_SIZE");
  EXPECT_THAT(as_text(all), HasSubstr("LCI_ATTR_PAKET_SIZE  (is LCI_ATTR_PACKET_SIZE meant?)"));
}

TEST(info, json_escapes_texts) {
  info all;
  all.version = "a\"b\\c\n";
  EXPECT_THAT(as_json(all), HasSubstr("\"version\": \"a\\\"b\\\\c\\u000a\""));
}

}  // namespace
}  // namespace lci::info
