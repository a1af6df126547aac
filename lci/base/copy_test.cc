#include "lci/base/copy.h"

#include <vector>

#include "gtest/gtest.h"

namespace lci::base {
namespace {

TEST(CopyBytes, CopiesExactlySoManyAtAnyPlace) {
  std::vector<unsigned char> from(100);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(i + 1);
  for (size_t size = 0; size <= 80; ++size) {
    for (size_t begin = 0; begin < 9; ++begin) {
      std::vector<unsigned char> to(100, 0xff);
      std::vector<unsigned char> wanted = to;
      for (size_t i = 0; i < size; ++i) wanted[10 + i] = from[begin + i];
      copy_bytes(&to[10], &from[begin], size);
      ASSERT_EQ(to, wanted) << size << " bytes from " << begin;
    }
  }
}

TEST(CopyBytes, NothingNeedsNoMemory) { copy_bytes(nullptr, nullptr, 0); }

}  // namespace
}  // namespace lci::base
