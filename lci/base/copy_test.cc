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

// Copies `size` bytes from each alignment to each alignment, and expects no others to change.
template <class Copy>
void expect_exact(size_t size, const Copy& copy) {
  constexpr size_t room = 80;
  std::vector<unsigned char> from(size + room);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(i * 7 + i / 256);
  for (size_t begin = 0; begin < room / 2; begin += 7) {
    for (size_t place = 0; place < 33; ++place) {
      std::vector<unsigned char> to(size + room, 0xff);
      std::vector<unsigned char> wanted = to;
      for (size_t i = 0; i < size; ++i) wanted[place + i] = from[begin + i];
      copy(&to[place], &from[begin], size);
      ASSERT_EQ(to, wanted) << size << " bytes from " << begin << " to " << place;
    }
  }
}

TEST(CopyData, CopiesExactlySoManyAtAnyPlace) {
  for (size_t size = least_repeated - 70; size <= least_repeated + 130; ++size) {
    expect_exact(size, copy_data);
  }
  expect_exact(100000, copy_data);
}

TEST(CopyPastCaches, CopiesExactlySoManyAtAnyPlace) {
  for (size_t size = 0; size <= 330; ++size) expect_exact(size, copy_past_caches);
  expect_exact(100000, copy_past_caches);
}

#if defined(__x86_64__)
TEST(CopyData, VectorsCopyExactlySoManyAtAnyPlace) {
  if (!__builtin_cpu_supports("avx")) GTEST_SKIP() << "a processor without AVX";
  for (size_t size = 128; size <= 400; ++size) expect_exact(size, copy_by_vectors);
  expect_exact(4096, copy_by_vectors);
}
#endif

TEST(CopyBytes, NothingNeedsNoMemory) {
  copy_bytes(nullptr, nullptr, 0);
  copy_past_caches(nullptr, nullptr, 0);
}

}  // namespace
}  // namespace lci::base
