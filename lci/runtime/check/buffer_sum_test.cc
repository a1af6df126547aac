#include "lci/runtime/check/buffer_sum.h"

#include <sys/mman.h>
#include <unistd.h>

#include <vector>

#include "gtest/gtest.h"

namespace lci::rt {
namespace {

using kind = buffer_sum::difference::kind;

constexpr size_t all = ~size_t{0};

TEST(BufferSumTest, AnyChangedByteOfASummedBufferIsFoundInItsBlock) {
  for (const size_t size : {1, 7, 8, 9, 4095, 4096, 4097, 20000}) {
    std::vector<unsigned char> bytes(size, 3);
    const buffer_sum sum(bytes.data(), size, all);
    EXPECT_EQ(sum.compare().what, kind::none);
    for (const size_t at : {size_t{0}, size / 2, size - 1}) {
      bytes[at] ^= 0x80;
      const buffer_sum::difference found = sum.compare();
      EXPECT_EQ(found.what, kind::changed) << size << " bytes, byte " << at;
      EXPECT_LE(found.begin, at);
      EXPECT_GT(found.end, at);
      EXPECT_LE(found.end - found.begin, 4096U);
      bytes[at] ^= 0x80;
    }
    EXPECT_EQ(sum.compare().what, kind::none);
  }
}

TEST(BufferSumTest, ExchangedWordsAreAChange) {
  std::vector<uint64_t> words{1, 2, 3, 4};
  const buffer_sum sum(words.data(), sizeof(uint64_t) * words.size(), all);
  std::swap(words[1], words[2]);
  EXPECT_EQ(sum.compare().what, kind::changed);
}

TEST(BufferSumTest, OfALargeBufferTheFirstAndTheLastBytesAreSummed) {
  constexpr size_t size = 100000;
  constexpr size_t most = 20000;
  std::vector<unsigned char> bytes(size);
  const buffer_sum sum(bytes.data(), size, most);
  const auto is_found = [&](size_t at) {
    bytes[at] ^= 1;
    const bool found = sum.compare().what == kind::changed;
    bytes[at] ^= 1;
    return found;
  };
  EXPECT_TRUE(is_found(0));
  EXPECT_TRUE(is_found(most / 2 - 1));
  EXPECT_FALSE(is_found(most / 2));
  EXPECT_FALSE(is_found(size - most / 2 - 1));
  EXPECT_TRUE(is_found(size - most / 2));
  EXPECT_TRUE(is_found(size - 1));
}

TEST(BufferSumTest, NothingIsSummedOfNoBytes) {
  EXPECT_EQ(buffer_sum().compare().what, kind::none);
  EXPECT_EQ(buffer_sum(nullptr, 0, all).compare().what, kind::none);
  unsigned char byte = 1;
  const buffer_sum sum(&byte, 1, 0);
  byte = 2;
  EXPECT_EQ(sum.compare().what, kind::none);
}

TEST(BufferSumTest, MemoryThatIsNoLongerMappedIsFoundAndDoesNotEndTheProcess) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  void* const memory =
      ::mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* const bytes = static_cast<char*>(memory);
  const buffer_sum sum(bytes, 3 * page, all);
  EXPECT_EQ(sum.compare().what, kind::none);
  ASSERT_EQ(::munmap(bytes + page, page), 0);
  const buffer_sum::difference found = sum.compare();
  EXPECT_EQ(found.what, kind::unmapped);
  EXPECT_EQ(found.begin, page);
  // It could not be read from the beginning, either.
  EXPECT_EQ(buffer_sum(bytes, 3 * page, all).compare().what, kind::unmapped);
  ::munmap(bytes, page);
  ::munmap(bytes + 2 * page, page);
}

}  // namespace
}  // namespace lci::rt
