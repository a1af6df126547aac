#include "lci/runtime/resources/open_memory.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace lci::rt {
namespace {

class OpenMemoryTest : public testing::Test {
 protected:
  bool has(uint64_t key, size_t offset, size_t size) const {
    void* used = nullptr;
    const auto address = reinterpret_cast<uintptr_t>(bytes_) + offset;
    const bool found = memory_.use(key, address, size, [&used](void* at) { used = at; });
    EXPECT_EQ(used, found ? bytes_ + offset : nullptr);
    return found;
  }

  unsigned char bytes_[100] = {};
  open_memory memory_;
};

TEST_F(OpenMemoryTest, OnlyBytesThatARegistrationOfTheKeyCoversAreUsed) {
  EXPECT_FALSE(has(7, 10, 8));
  memory_.add(7, bytes_ + 10, 40);
  EXPECT_TRUE(has(7, 10, 8));
  EXPECT_TRUE(has(7, 42, 8));
  EXPECT_TRUE(has(7, 50, 0));
  EXPECT_FALSE(has(7, 43, 8)) << "beyond the end";
  EXPECT_FALSE(has(7, 9, 8)) << "before the begin";
  EXPECT_FALSE(has(6, 10, 8));
  EXPECT_FALSE(has(8, 10, 8));
  EXPECT_FALSE(memory_.use(7, ~uint64_t{0} - 3, 8, [](void*) { FAIL(); }));
  memory_.remove(7, bytes_ + 10, 40);
  EXPECT_FALSE(has(7, 10, 8));
}

TEST_F(OpenMemoryTest, RegistrationsOfOneKeyMayOverlapAndEndOneByOne) {
  memory_.add(7, bytes_, 100);
  for (size_t i = 0; i < 40; ++i) memory_.add(7, bytes_ + i, 1);
  memory_.add(7, bytes_, 20);
  EXPECT_TRUE(has(7, 60, 8)) << "of the first, although many begin between";
  memory_.remove(7, bytes_, 100);
  EXPECT_FALSE(has(7, 60, 8));
  EXPECT_TRUE(has(7, 12, 8)) << "the one of 20 bytes is still open";
  memory_.remove(7, bytes_, 20);
  EXPECT_FALSE(has(7, 12, 8));
  EXPECT_TRUE(has(7, 12, 1));
}

}  // namespace
}  // namespace lci::rt
