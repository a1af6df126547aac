#include "lci/boot/token.h"

#include <string>

#include "gtest/gtest.h"

namespace lci::boot {
namespace {

TEST(token, every_byte_counts) {
  const std::string token = "0123456789abcdef";
  EXPECT_TRUE(same_token(token, std::string(token)));
  for (size_t i = 0; i < token.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string other = token;
      other[i] = static_cast<char>(other[i] ^ (1 << bit));
      EXPECT_FALSE(same_token(token, other)) << "byte " << i << ", bit " << bit;
    }
  }
}

TEST(token, the_length_counts) {
  EXPECT_TRUE(same_token("", ""));
  EXPECT_FALSE(same_token("", "a"));
  EXPECT_FALSE(same_token("ab", "a"));
  EXPECT_FALSE(same_token("a", "ab"));
}

}  // namespace
}  // namespace lci::boot
