#include "lci/net/shm/heap.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "gtest/gtest.h"

namespace lci::net::shm {
namespace {

constexpr uint64_t token = 77;
constexpr size_t reserve_pages = 16;

uint64_t address_of(const void* at) { return reinterpret_cast<uintptr_t>(at); }

bool is_zero(const unsigned char* bytes, size_t size) {
  return std::all_of(bytes, bytes + size, [](unsigned char each) { return each == 0; });
}

segment_heap::block allocate(segment_heap* heap, size_t size) {
  const base::StatusOr<segment_heap::block> made = heap->allocate(size);
  EXPECT_TRUE(made.ok()) << made.status().ToString();
  return made.ok() ? *made : segment_heap::block();
}

// As a peer that was passed the descriptor of the reserve: at other addresses.
std::shared_ptr<segment> map_again(const segment& reserve) {
  base::StatusOr<segment> mapped =
      segment::adopt(reserve.name().descriptor, token, reserve.size(), /*writable=*/true);
  EXPECT_TRUE(mapped.ok()) << mapped.status().ToString();
  return std::make_shared<segment>(*std::move(mapped));
}

class HeapTest : public testing::TestWithParam<bool> {
 protected:
  HeapTest() {
    heap_.attach(token);
    if (!has_reserve()) {
      views_.attach(getpid(), token);
      return;
    }
    const base::Status made = heap_.make_reserve(reserve_pages * page_size);
    EXPECT_TRUE(made.ok()) << made.ToString();
    views_.attach(map_again(*heap_.reserve()), address_of(heap_.reserve()->data()));
  }

  static bool has_reserve() { return GetParam(); }
  unsigned char* find(const segment_heap::block& block) {
    return views_.find(block.backing, address_of(block.data));
  }

  segment_heap heap_;
  heap_views views_;
};

INSTANTIATE_TEST_SUITE_P(Kinds, HeapTest, testing::Bool(),
                         [](const auto& kind) { return kind.param ? "WithReserve" : "ByName"; });

TEST_P(HeapTest, APeerSeesTheBytesOfEachBlock) {
  const size_t sizes[] = {1, page_size, page_size + 1, 0};
  segment_heap::block blocks[4];
  for (size_t i = 0; i < 4; ++i) {
    blocks[i] = allocate(&heap_, sizes[i]);
    ASSERT_TRUE(is_zero(blocks[i].data, sizes[i]));
    std::memset(blocks[i].data, static_cast<int>(i + 1), sizes[i]);
  }
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(views_.find_known(blocks[i].backing), nullptr);
    unsigned char* const seen = find(blocks[i]);
    ASSERT_NE(seen, nullptr);
    EXPECT_NE(seen, blocks[i].data);
    EXPECT_EQ(views_.find_known(blocks[i].backing), seen);
    EXPECT_TRUE(std::equal(seen, seen + sizes[i], blocks[i].data));
    seen[0] = 99;
    EXPECT_EQ(blocks[i].data[0], 99);
  }
}

TEST_P(HeapTest, AFreedBlockIsUsedAgainAndIsZero) {
  const segment_heap::block first = allocate(&heap_, 2 * page_size);
  const segment_heap::block second = allocate(&heap_, 2 * page_size);
  std::memset(first.data, 1, 2 * page_size);
  std::memset(second.data, 2, 2 * page_size);
  unsigned char* const seen = find(first);
  ASSERT_NE(seen, nullptr);
  heap_.free(first);
  EXPECT_TRUE(is_zero(seen, 2 * page_size));
  const segment_heap::block again = allocate(&heap_, 2 * page_size);
  EXPECT_EQ(again.data, first.data);
  EXPECT_EQ(again.backing, first.backing);
  EXPECT_TRUE(is_zero(again.data, 2 * page_size));
  EXPECT_EQ(second.data[0], 2);
  EXPECT_EQ(second.data[2 * page_size - 1], 2);
}

TEST_P(HeapTest, ManyBlocksDoNotOverlap) {
  // More than the reserve has room for: the last ones have a segment for themselves.
  segment_heap::block blocks[2 * reserve_pages];
  for (segment_heap::block& each : blocks) each = allocate(&heap_, page_size);
  for (size_t i = 0; i < 2 * reserve_pages; ++i) {
    std::memset(blocks[i].data, static_cast<int>(i), page_size);
  }
  size_t mapped = 0;
  for (size_t i = 0; i < 2 * reserve_pages; ++i) {
    EXPECT_EQ(blocks[i].data[0], i);
    EXPECT_EQ(blocks[i].data[page_size - 1], i);
    if (blocks[i].backing == 0) continue;
    ++mapped;
    const unsigned char* const seen = find(blocks[i]);
    ASSERT_NE(seen, nullptr);
    EXPECT_EQ(seen[0], i);
  }
  EXPECT_EQ(mapped, has_reserve() ? reserve_pages - 1 : 2 * reserve_pages);
  for (const segment_heap::block& each : blocks) heap_.free(each);
  const segment_heap::block again = allocate(&heap_, page_size);
  EXPECT_EQ(again.data, blocks[0].data);
}

TEST(HeapViewsTest, ABlockOutsideTheReserveIsNotMapped) {
  segment_heap heap;
  heap.attach(token);
  ASSERT_TRUE(heap.make_reserve(reserve_pages * page_size).ok());
  heap_views views;
  const uint64_t begin = address_of(heap.reserve()->data());
  views.attach(map_again(*heap.reserve()), begin);
  EXPECT_EQ(views.find(make_backing(0, 2), begin + (reserve_pages - 1) * page_size), nullptr);
  EXPECT_EQ(views.find(make_backing(1, reserve_pages + 1), begin), nullptr);
  EXPECT_EQ(views.find(make_backing(2, 1), begin - page_size), nullptr);
  EXPECT_NE(views.find(make_backing(3, 1), begin + page_size), nullptr);
}

}  // namespace
}  // namespace lci::net::shm
