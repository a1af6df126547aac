#include "lci/io/record.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"

namespace lci::io {
namespace {

enum class color { red, green = 7 };
enum class small_color : uint8_t { red };

struct inner {
  int number = 0;
  std::string_view text;
  static constexpr auto fields = std::make_tuple(&inner::number, &inner::text);
};

struct outer {
  bool is_set = false;
  color shade = color::red;
  std::vector<inner> list;
  int not_sent = 0;
  static constexpr auto fields = std::make_tuple(&outer::is_set, &outer::shade, &outer::list);
};

std::string example() { return encode_record(outer{true, color::green, {{-1, "ab"}, {2, ""}}, 5}); }

TEST(Record, FieldsComeBackAsTheyWere) {
  const std::string body = example();
  outer read;
  ASSERT_TRUE(decode_record(body, &read));
  EXPECT_TRUE(read.is_set);
  EXPECT_EQ(read.shade, color::green);
  ASSERT_EQ(read.list.size(), 2u);
  EXPECT_EQ(read.list[0].number, -1);
  EXPECT_EQ(read.list[0].text, "ab");
  EXPECT_EQ(read.list[1].number, 2);
  EXPECT_EQ(read.not_sent, 0);
}

TEST(Record, NumbersAreLittleEndianAndTextsAndListsBeginWithTheirSize) {
  EXPECT_EQ(encode_record(outer{true, color::green, {{-1, "ab"}}, 0}),
            std::string_view("\1\0\0\0\7\0\0\0\1\0\0\0\xff\xff\xff\xff\2\0\0\0ab", 22));
}

TEST(Record, ABodyThatIsCutOrTooLongIsRefused) {
  const std::string body = example();
  outer read;
  for (size_t size = 0; size < body.size(); ++size) {
    EXPECT_FALSE(decode_record(std::string_view(body).substr(0, size), &read)) << size;
  }
  EXPECT_FALSE(decode_record(body + '\0', &read));
}

TEST(Record, LargeNumbersHaveEightBytes) {
  const std::string body = encode_record(int64_t{-2});
  EXPECT_EQ(body.size(), 8u);
  int64_t read = 0;
  ASSERT_TRUE(decode_record(body, &read));
  EXPECT_EQ(read, -2);
}

TEST(Record, ANumberThatItsTypeCannotHoldIsRefused) {
  small_color read = small_color::red;
  EXPECT_TRUE(decode_record(encode_record(uint32_t{255}), &read));
  EXPECT_FALSE(decode_record(encode_record(uint32_t{256}), &read));
}

TEST(Record, AFlagIsSetOrClear) {
  std::string body = example();
  body[0] = 2;
  outer read;
  EXPECT_FALSE(decode_record(body, &read));
}

}  // namespace
}  // namespace lci::io
