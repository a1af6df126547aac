// The paths of blocks of different sizes, where no rank knows the sizes of all.
#include "lci/coll/blocks.h"

#include <cstddef>
#include <functional>
#include <vector>

#include "gtest/gtest.h"
#include "lci/coll/operations.h"
#include "lci/testing/arena_ranks/arena_ranks.h"

namespace lci::coll {
namespace {

// The bytes that a rank sends to another one.
using size_of_block = std::function<size_t(int from, int to)>;

unsigned char byte_of(int from, int to, size_t i) {
  return static_cast<unsigned char>(i / 251 + i + 3 * static_cast<size_t>(from) +
                                    5 * static_cast<size_t>(to));
}

void append(block_layout* layout, size_t* end, size_t size) {
  layout->blocks.push_back({*end, size});
  *end += size;
}

void expect_exchange(test_rank& rank, const size_of_block& size) {
  block_layout sent;
  block_layout received;
  size_t sent_end = 0;
  size_t received_end = 0;
  std::vector<unsigned char> out;
  for (int r = 0; r < rank.size(); ++r) {
    append(&sent, &sent_end, size(rank.rank(), r));
    append(&received, &received_end, size(r, rank.rank()));
    for (size_t i = 0; i < size(rank.rank(), r); ++i) out.push_back(byte_of(rank.rank(), r, i));
  }
  std::vector<unsigned char> in(received_end);
  alltoallv exchange(rank.begin({operation_kind::alltoallv}), out.data(), sent, in.data(),
                     received);
  test_rank::run(&exchange);
  exchange.end();
  for (int r = 0; r < rank.size(); ++r) {
    const block_layout::block& each = received.of(r);
    size_t wrong = 0;
    for (size_t i = 0; i < each.size; ++i) {
      wrong += in[each.offset + i] != byte_of(r, rank.rank(), i) ? 1 : 0;
    }
    EXPECT_EQ(wrong, 0u) << "from rank " << r << " to rank " << rank.rank();
  }
}

// The block of a rank for itself takes no room in the area.
TEST(Alltoallv, ARankCopiesItsOwnBlockItself) {
  run_ranks(
      2,
      [](test_rank& rank) {
        expect_exchange(rank, [](int from, int to) { return from == to ? 100000 : 8 << 10; });
      },
      reading::impossible, sizes_without_pipes);
}

// Ranks whose blocks are in their areas exchange them with ranks whose blocks are in their memory.
TEST(Alltoallv, OneRankHasLargeBlocks) {
  run_ranks(3, [](test_rank& rank) {
    for (int large = 0; large <= 3; ++large) {
      expect_exchange(rank, [&](int from, int to) {
        return from == large && to == (large + 1) % 3 ? size_t{128} << 10 : size_t{100};
      });
    }
  });
}

}  // namespace
}  // namespace lci::coll
