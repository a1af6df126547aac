#include "examples/poisson/layout.h"

#include <numeric>
#include <vector>

#include "gtest/gtest.h"

namespace poisson {
namespace {

std::vector<char> numbered(size_t size) {
  std::vector<char> bytes(size);
  std::iota(bytes.begin(), bytes.end(), char{1});
  return bytes;
}

TEST(Layout, PacksGroupsOfPieces) {
  const layout faces{3, 2, 3, 5, 2, 40};
  ASSERT_EQ(faces.size(), 12u);
  const std::vector<char> bytes = numbered(100);
  std::vector<char> packed(12);
  pack(bytes.data(), faces, packed.data());
  EXPECT_EQ(packed, (std::vector<char>{4, 5, 9, 10, 14, 15, 44, 45, 49, 50, 54, 55}));

  std::vector<char> unpacked(100);
  unpack(packed.data(), unpacked.data(), faces);
  for (size_t i = 0; i < 100; ++i) {
    const bool inside = (i % 40 >= 3 && i % 40 < 15 && (i % 40 - 3) % 5 < 2 && i < 80);
    EXPECT_EQ(unpacked[i], inside ? bytes[i] : 0) << i;
  }
}

TEST(Layout, NothingIsNoBytes) {
  const layout nothing{5, 0, 3, 6};
  char byte = 7;
  pack(&byte, nothing, &byte);
  unpack(&byte, &byte, nothing);
  EXPECT_EQ(byte, 7);
}

}  // namespace
}  // namespace poisson
