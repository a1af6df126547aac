// The order in which a rank writes and reads the pieces of an operation.
#include "lci/coll/piped_operation.h"

#include <cstddef>
#include <cstdint>

#include "gtest/gtest.h"
#include "lci/coll/arena.h"
#include "lci/testing/arena_ranks/arena_ranks.h"

namespace lci::coll {
namespace {

constexpr uint64_t pieces = 2 * pipes::slots;
constexpr size_t bytes = pieces * pipes::piece_bytes;

ticket begin(test_rank& rank) { return rank.begin({operation_kind::scan, -1, bytes, 1}); }

// Each rank reads the pieces of those before it, as in a scan. It writes none while it is not
// allowed to.
class pieces_in_order final : public piped_operation {
 public:
  explicit pieces_in_order(test_rank& own) : piped_operation(begin(own), 0) {
    use_pieces(operation_kind::scan, bytes, pieces);
  }

  bool may_put = true;
  uint64_t put = 0;
  uint64_t got = 0;
  bool got_before_put = false;

 private:
  bool step() override {
    if (stage_ == 0) {
      if (!offer_and_publish(nullptr, bytes)) return false;
      stage_ = 1;
    }
    const part does = rank() == 0 ? part::writes : rank() + 1 == size() ? part::reads : part::both;
    return exchange_some(
        does, [this](int from) { return from < rank(); },
        [this](uint64_t, char*) {
          put += may_put ? 1 : 0;
          return may_put;
        },
        [this, does](uint64_t number) {
          got_before_put |= does == part::both && number >= put;
          ++got;
        });
  }
};

// Of a rank whose results take the place of what it offers, a piece that was read too early would
// overwrite the one that the next rank is to read.
TEST(PipedOperation, ARankReadsAPieceAfterItHasWrittenItsOwn) {
  test_ranks ranks(3);
  pieces_in_order first(ranks[0]);
  pieces_in_order middle(ranks[1]);
  pieces_in_order last(ranks[2]);
  middle.may_put = false;
  for (uint64_t step = 0; step < pieces; ++step) {
    first.advance();
    EXPECT_FALSE(middle.advance());
    EXPECT_FALSE(last.advance());
  }
  EXPECT_EQ(first.put, pipes::slots);
  EXPECT_EQ(middle.got, 0u);
  EXPECT_EQ(last.got, 0u);

  middle.may_put = true;
  bool over[3] = {};
  for (uint64_t step = 0; step < 10 * pieces && !(over[0] && over[1] && over[2]); ++step) {
    over[0] = over[0] || first.advance();
    over[1] = over[1] || middle.advance();
    over[2] = over[2] || last.advance();
  }
  EXPECT_TRUE(over[0] && over[1] && over[2]);
  EXPECT_FALSE(middle.got_before_put);
  EXPECT_EQ(middle.got, pieces);
  EXPECT_EQ(last.got, pieces);
  first.end();
  middle.end();
  last.end();
}

}  // namespace
}  // namespace lci::coll
