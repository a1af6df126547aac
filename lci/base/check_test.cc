#include "lci/base/check.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lci::base {
namespace {

using testing::HasSubstr;

TEST(check, passes_silently_and_does_not_evaluate_the_message) {
  int evaluated = 0;
  LCI_CHECK(1 + 1 == 2, "counted ", ++evaluated);
  EXPECT_EQ(evaluated, 0);
}

TEST(check, failure_names_place_condition_and_values) {
  const int have = 3;
  std::string what;
  int line = 0;
  try {
    line = __LINE__ + 1;
    LCI_CHECK(have == 4, "have ", have);
  } catch (const std::logic_error& e) {
    what = e.what();
  }
  EXPECT_THAT(what, HasSubstr("check_test.cc:" + std::to_string(line)));
  EXPECT_THAT(what, HasSubstr("have == 4"));
  EXPECT_THAT(what, HasSubstr("have 3"));
}

TEST(check, is_one_statement) {
  bool reached_else = false;
  if (false)
    LCI_CHECK(false, "not reached");
  else
    reached_else = true;
  EXPECT_TRUE(reached_else);
}

TEST(assert, checks_only_in_debug_builds) {
  int evaluated = 0;
  auto fails = [&evaluated] {
    ++evaluated;
    return false;
  };
#ifdef NDEBUG
  LCI_ASSERT(fails(), "never seen");
  EXPECT_EQ(evaluated, 0);
#else
  EXPECT_THROW(LCI_ASSERT(fails(), "seen"), check_error);
  EXPECT_EQ(evaluated, 1);
#endif
}

}  // namespace
}  // namespace lci::base
