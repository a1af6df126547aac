#include "lci/runtime/check/buffer_index.h"

#include <cstdint>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace lci::rt {
namespace {

struct buffer {
  uintptr_t begin;
  size_t size;
  bool is_listed = false;
  const void* address() const { return reinterpret_cast<const void*>(begin); }
};

bool overlap(const buffer& a, const buffer& b) {
  return a.begin < b.begin + b.size && b.begin < a.begin + a.size;
}

TEST(BufferIndexTest, FindsAnOverlapExactlyWhereAPairwiseComparisonDoes) {
  std::mt19937 random(7);
  std::vector<buffer> buffers;
  for (int i = 0; i < 60; ++i) {
    // Few and large, many and small, and next to each other.
    buffers.push_back({random() % 4000, size_t{random() % 5} << random() % 9});
  }
  buffer_index<buffer> index;
  for (int round = 0; round < 20000; ++round) {
    buffer& changed = buffers[random() % buffers.size()];
    if (changed.is_listed) {
      index.remove(changed.address(), changed.size, &changed);
    } else {
      index.add(changed.address(), changed.size, &changed);
    }
    changed.is_listed = !changed.is_listed;
    const buffer asked{random() % 4000, random() % 100};
    bool expected = false;
    for (const buffer& each : buffers) {
      expected =
          expected || (each.is_listed && each.size > 0 && asked.size > 0 && overlap(each, asked));
    }
    const buffer* const found = index.find(asked.address(), asked.size);
    ASSERT_EQ(found != nullptr, expected) << "round " << round;
    if (found != nullptr) {
      EXPECT_TRUE(found->is_listed && overlap(*found, asked));
    }
  }
}

TEST(BufferIndexTest, BuffersAtTheEndsOfTheAddressSpaceAreFound) {
  buffer first{1, 8};
  buffer last{~uintptr_t{0} - 8, 8};
  buffer_index<buffer> index;
  index.add(first.address(), first.size, &first);
  index.add(last.address(), last.size, &last);
  EXPECT_EQ(index.find(first.address(), 1), &first);
  EXPECT_EQ(index.find(reinterpret_cast<const void*>(last.begin + 7), 1), &last);
  EXPECT_EQ(index.find(reinterpret_cast<const void*>(uintptr_t{9}), 100), nullptr);
}

}  // namespace
}  // namespace lci::rt
