#include "lci/net/ofi/pacing.h"

#include <cstddef>
#include <cstdint>

#include "gtest/gtest.h"

namespace lci::net::ofi {
namespace {

TEST(Pacing, BbrIsPaced) {
  EXPECT_TRUE(is_paced("bbr"));
  EXPECT_TRUE(is_paced("bbr2"));
  EXPECT_FALSE(is_paced("cubic"));
  EXPECT_FALSE(is_paced("reno"));
  EXPECT_FALSE(is_paced(""));
}

TEST(Pacing, MessagesLeaveInPiecesOnlyWhereTheyArePaced) {
  EXPECT_EQ(choose_piece(0, "bbr"), size_t{192} << 10);
  EXPECT_EQ(choose_piece(0, "cubic"), SIZE_MAX);
  EXPECT_EQ(choose_piece(0, ""), SIZE_MAX);
}

TEST(Pacing, TheAttributeOverrides) {
  EXPECT_EQ(choose_piece(1000, "bbr"), 1000u);
  EXPECT_EQ(choose_piece(1000, "cubic"), 1000u);
}

TEST(Pacing, TheKernelReportsItsCongestionControl) { EXPECT_FALSE(congestion_control().empty()); }

}  // namespace
}  // namespace lci::net::ofi
