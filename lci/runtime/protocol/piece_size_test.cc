#include "lci/runtime/protocol/piece_size.h"

#include "gtest/gtest.h"

namespace lci::rt {
namespace {

constexpr size_t KiB = 1024;

TEST(PieceSize, WhatFitsIsOnePiece) {
  EXPECT_EQ(piece_size(0, 480 * KiB), 0U);
  EXPECT_EQ(piece_size(480 * KiB, 480 * KiB), 480 * KiB);
  EXPECT_EQ(piece_size(1, 1), 1U);
}

TEST(PieceSize, PiecesAreEquallyLarge) {
  EXPECT_EQ(piece_size(512 * KiB, 480 * KiB), 256 * KiB);
  EXPECT_EQ(piece_size(480 * KiB + 1, 480 * KiB), 244 * KiB);
  EXPECT_EQ(piece_size(1024 * KiB, 480 * KiB), 344 * KiB);
}

// Nor more pieces than without the rounding.
TEST(PieceSize, NoPieceIsLargerThanTheLimit) {
  for (const size_t most : {size_t{1}, size_t{100}, size_t{4097}, size_t{10000}, 480 * KiB}) {
    for (const size_t size : {most - 1, most, most + 1, 2 * most, 10 * most - 1, 10 * most + 1}) {
      const size_t piece = piece_size(size, most);
      EXPECT_LE(piece, most);
      if (size == 0) continue;
      ASSERT_GT(piece, 0U);
      EXPECT_EQ((size - 1) / piece, (size - 1) / most) << size << " bytes, " << most << " at most";
    }
  }
}

}  // namespace
}  // namespace lci::rt
