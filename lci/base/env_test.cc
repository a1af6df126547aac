#include "lci/base/env.h"

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lci::base {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr const char* variable = "LCI_ENV_TEST_VARIABLE";

class env : public testing::Test {
 protected:
  ~env() override { unsetenv(variable); }
  static void set(const char* value) { ASSERT_EQ(setenv(variable, value, 1), 0); }
};

enum class color { red, green };
constexpr enum_name<color> colors[] = {{"red", color::red}, {"green", color::green}};

TEST_F(env, unset_and_empty_give_the_default) {
  for (const char* value : {static_cast<const char*>(nullptr), "", "  "}) {
    if (value != nullptr) set(value);
    EXPECT_EQ(env_int64(variable, -3, -10, 10).value(), -3);
    EXPECT_EQ(env_double(variable, 2.5, 0, 10).value(), 2.5);
    EXPECT_EQ(env_bool(variable, true).value(), true);
    EXPECT_EQ(env_size(variable, 77, 0, 100).value(), 77u);
    EXPECT_EQ(env_string(variable, "d"), "d");
    EXPECT_EQ(env_enum<color>(variable, color::green, colors).value(), color::green);
  }
}

TEST_F(env, good_values) {
  set(" -7 ");
  EXPECT_EQ(env_int64(variable, 0, -10, 10).value(), -7);
  set("1e-3");
  EXPECT_EQ(env_double(variable, 0, 0, 10).value(), 1e-3);
  set("Off");
  EXPECT_EQ(env_bool(variable, true).value(), false);
  set("YES");
  EXPECT_EQ(env_bool(variable, false).value(), true);
  set("Red");
  EXPECT_EQ(env_enum<color>(variable, color::green, colors).value(), color::red);
  set(" words and spaces ");
  EXPECT_EQ(env_string(variable, "d"), "words and spaces");
}

TEST_F(env, sizes_take_suffixes) {
  constexpr size_t any = std::numeric_limits<size_t>::max();
  EXPECT_EQ(parse_size("s", "0", 0, any).value(), 0u);
  EXPECT_EQ(parse_size("s", "8k", 0, any).value(), 8192u);
  EXPECT_EQ(parse_size("s", "3M", 0, any).value(), size_t{3} << 20);
  EXPECT_EQ(parse_size("s", "4g", 0, any).value(), size_t{4} << 30);
  EXPECT_EQ(parse_size("s", "18446744073709551615", 0, any).value(), any);
  for (const char* invalid : {"", "k", "-1", "+1", "1kk", "1 k", "1.5M", "0x10",
                              "18446744073709551616", "18014398509481984k"}) {
    EXPECT_FALSE(parse_size("s", invalid, 0, any).ok()) << invalid;
  }
}

TEST_F(env, ranges_are_inclusive) {
  EXPECT_EQ(parse_int64("i", "10", -10, 10).value(), 10);
  EXPECT_FALSE(parse_int64("i", "11", -10, 10).ok());
  EXPECT_EQ(parse_int64("i", "-10", -10, 10).value(), -10);
  EXPECT_FALSE(parse_int64("i", "-11", -10, 10).ok());
  EXPECT_FALSE(parse_int64("i", "9223372036854775808", INT64_MIN, INT64_MAX).ok());
  EXPECT_EQ(parse_size("s", "1k", 1024, 1024).value(), 1024u);
  EXPECT_FALSE(parse_size("s", "1k", 0, 1023).ok());
  EXPECT_FALSE(parse_double("d", "nan", 0, 1).ok());
  EXPECT_FALSE(parse_double("d", "inf", 0, 1e300).ok());
  EXPECT_FALSE(parse_double("d", "1.1", 0, 1).ok());
}

TEST_F(env, errors_name_variable_value_and_what_is_accepted) {
  set("7 apples");
  const Status errors[] = {
      env_int64(variable, 0, 1, 64).status(), env_double(variable, 0, 1, 64).status(),
      env_bool(variable, false).status(), env_size(variable, 0, 1, 64).status(),
      env_enum<color>(variable, color::red, colors).status()};
  const char* accepted[] = {"from 1 to 64", "from 1 to 64", "true, yes", "suffix k", "red, green"};
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(errors[i].code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(errors[i].message()),
                AllOf(HasSubstr(variable), HasSubstr("7 apples"), HasSubstr(accepted[i])));
  }
}

}  // namespace
}  // namespace lci::base
