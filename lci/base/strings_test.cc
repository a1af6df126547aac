#include "lci/base/strings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace lci::base {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(strings, concatenates_texts_and_numbers) {
  const char* const none = nullptr;
  EXPECT_EQ(StrCat(), "");
  EXPECT_EQ(StrCat(std::string("a"), std::string_view("b"), "c", 'd', none), "abcd");
  EXPECT_EQ(StrCat(-1, " ", 2U, " ", int64_t{-3}, " ", uint8_t{65}), "-1 2 -3 65");
  EXPECT_EQ(StrCat(std::numeric_limits<int64_t>::min(), " ", std::numeric_limits<uint64_t>::max()),
            "-9223372036854775808 18446744073709551615");
  EXPECT_EQ(StrCat(true, false), "10");
  enum numbers { three = 3 };
  EXPECT_EQ(StrCat(three), "3");
}

TEST(strings, writes_floating_point_with_six_significant_digits) {
  EXPECT_EQ(StrCat(0.1, " ", 1.0F, " ", 1e6, " ", 1234567.0, " ", -2.5e-7),
            "0.1 1 1e+06 1.23457e+06 -2.5e-07");
  EXPECT_EQ(StrCat(-std::numeric_limits<double>::min()), "-2.22507e-308");
}

TEST(strings, writes_hexadecimal_digits) {
  EXPECT_EQ(StrCat(Hex(0), " ", Hex(255), " ", Hex(10, 4)), "0 ff 000a");
  EXPECT_EQ(StrCat(Hex('\xe9', 2), " ", Hex(int16_t{-1})), "e9 ffff");
  EXPECT_EQ(StrCat(Hex(uint64_t{1} << 60, 16), Hex(1, 16)), "10000000000000000000000000000001");
}

TEST(strings, appends) {
  std::string text = "a";
  StrAppend(&text, 1, "b");
  StrAppend(&text);
  EXPECT_EQ(text, "a1b");
}

TEST(strings, joins) {
  EXPECT_EQ(StrJoin(std::vector<int>{1, 2, 3}, ", "), "1, 2, 3");
  EXPECT_EQ(StrJoin(std::vector<std::string>{"", ""}, "-"), "-");
  EXPECT_EQ(StrJoin(std::vector<int>{}, "-"), "");
}

TEST(strings, splits) {
  EXPECT_THAT(StrSplit("a,,b,", ','), ElementsAre("a", "", "b", ""));
  EXPECT_THAT(StrSplit("", ','), ElementsAre(""));
  EXPECT_THAT(StrSplit(",a,,b,", ',', SkipEmpty()), ElementsAre("a", "b"));
  EXPECT_THAT(StrSplit("", ',', SkipEmpty()), IsEmpty());
  EXPECT_THAT(StrSplit(std::string_view("a\0b", 3), '\0'), ElementsAre("a", "b"));
}

TEST(strings, compares) {
  EXPECT_TRUE(StartsWith("abc", "ab"));
  EXPECT_TRUE(StartsWith("abc", ""));
  EXPECT_FALSE(StartsWith("abc", "abcd"));
  EXPECT_TRUE(EndsWith("abc", "bc"));
  EXPECT_FALSE(EndsWith("bc", "abc"));
  EXPECT_TRUE(StrContains("abc", "bc"));
  EXPECT_FALSE(StrContains("abc", 'd'));
  EXPECT_TRUE(EqualsIgnoreCase("aB1_", "Ab1_"));
  EXPECT_FALSE(EqualsIgnoreCase("ab", "abc"));
  EXPECT_FALSE(EqualsIgnoreCase("[", "{"));  // differ in the bit that is the case of a letter
}

TEST(strings, consumes_only_what_is_there) {
  std::string_view text = "abcabc";
  EXPECT_TRUE(ConsumePrefix(&text, "ab"));
  EXPECT_FALSE(ConsumePrefix(&text, "ab"));
  EXPECT_EQ(text, "cabc");
  EXPECT_TRUE(ConsumeSuffix(&text, "bc"));
  EXPECT_FALSE(ConsumeSuffix(&text, "bc"));
  EXPECT_EQ(text, "ca");
  EXPECT_EQ(StripAsciiWhitespace(" \t\r\n\v\fa b "), "a b");
  EXPECT_EQ(StripAsciiWhitespace(" \n"), "");
}

TEST(strings, escapes) {
  EXPECT_EQ(AsciiStrToUpper("az_09\xe4"), "AZ_09\xe4");
  EXPECT_EQ(CHexEscape("a\n\"\\b"), "a\\n\\\"\\\\b");
  EXPECT_EQ(CHexEscape(std::string_view("\0g\xff", 3)), "\\x00g\\xff");
  EXPECT_EQ(CHexEscape("\x01"
                       "b"),
            "\\x01\\x62");
  EXPECT_EQ(BytesToHexString(std::string_view("\x00\x1f\xff", 3)), "001fff");
}

TEST(strings, parses_whole_numbers) {
  int number = 0;
  EXPECT_TRUE(SimpleAtoi(" -12\n", &number));
  EXPECT_EQ(number, -12);
  EXPECT_TRUE(SimpleAtoi("+7", &number));
  EXPECT_EQ(number, 7);
  for (const char* text : {"", " ", "-", "+", "+-1", "1x", "1 2", "1.0", "0x1", "2147483648"}) {
    EXPECT_FALSE(SimpleAtoi(text, &number)) << text;
  }
  EXPECT_EQ(number, 7);
  unsigned positive = 0;
  EXPECT_TRUE(SimpleAtoi("4294967295", &positive));
  EXPECT_EQ(positive, 4294967295U);
  EXPECT_FALSE(SimpleAtoi("-1", &positive));
}

TEST(strings, parses_numbers_with_a_point) {
  double number = 0;
  EXPECT_TRUE(SimpleAtod(" -1.5e3 ", &number));
  EXPECT_EQ(number, -1500);
  EXPECT_TRUE(SimpleAtod("+.5", &number));
  EXPECT_EQ(number, 0.5);
  for (const char* text : {"", "e", "1,5", "1.5x", "1e999", "++1"}) {
    EXPECT_FALSE(SimpleAtod(text, &number)) << text;
  }
}

}  // namespace
}  // namespace lci::base
