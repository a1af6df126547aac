#include "lci/ds/shared_pieces.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace lci::ds {
namespace {

using side = shared_pieces::side;

TEST(SharedPieces, EachByteIsProcessedOnceByTwoThreads) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{32} << 10, (size_t{64} << 10) + 1,
                            (size_t{1} << 20) - 1, size_t{9} << 20}) {
    std::atomic<uint64_t> taken{0};
    std::vector<unsigned char> times(size);
    std::atomic<uint64_t> calls{0};
    const shared_pieces pieces(&taken, size);
    const auto process = [&](side own) {
      bool whole = false;
      calls += pieces.take(
          own,
          [&](size_t offset, size_t bytes) {
            for (size_t i = 0; i < bytes; ++i) ++times[offset + i];
            return true;
          },
          &whole);
      EXPECT_TRUE(whole);
    };
    std::thread other(process, side::back);
    process(side::front);
    other.join();
    EXPECT_EQ(std::count(times.begin(), times.end(), 1), static_cast<ptrdiff_t>(size));
    EXPECT_EQ(calls, pieces.count()) << size << " bytes";
  }
}

TEST(SharedPieces, ItemsStayTogether) {
  for (const size_t item : {size_t{24}, size_t{100000}}) {
    const size_t size = 11 * item * 1000;
    std::atomic<uint64_t> taken{0};
    const shared_pieces pieces(&taken, size, item);
    size_t all = 0;
    bool whole = false;
    const auto process = [&](size_t offset, size_t bytes) {
      EXPECT_EQ(offset % item, 0U);
      EXPECT_EQ(bytes % item, 0U);
      all += bytes;
      return true;
    };
    EXPECT_EQ(pieces.take(side::back, process, &whole), pieces.count());
    EXPECT_EQ(all, size);
  }
}

TEST(SharedPieces, ASideAloneProcessesAllFromItsEnd) {
  constexpr size_t size = size_t{100} << 10;
  for (const side own : {side::front, side::back}) {
    std::atomic<uint64_t> taken{0};
    const shared_pieces pieces(&taken, size);
    std::vector<size_t> offsets;
    bool whole = false;
    const uint64_t called = pieces.take(
        own,
        [&](size_t offset, size_t) {
          offsets.push_back(offset);
          return true;
        },
        &whole);
    EXPECT_EQ(called, pieces.count());
    EXPECT_EQ(called, 4u);
    if (own == side::back) std::reverse(offsets.begin(), offsets.end());
    EXPECT_EQ(offsets, (std::vector<size_t>{0, 32 << 10, 64 << 10, 96 << 10}));
  }
}

TEST(SharedPieces, AFailureEndsTheSide) {
  std::atomic<uint64_t> taken{0};
  const shared_pieces pieces(&taken, size_t{1} << 20);
  bool whole = true;
  EXPECT_EQ(pieces.take(
                side::front, [](size_t offset, size_t) { return offset == 0; }, &whole),
            2u);
  EXPECT_FALSE(whole);
  EXPECT_EQ(pieces.take(
                side::back, [](size_t, size_t) { return true; }, &whole),
            pieces.count() - 2);
  EXPECT_TRUE(whole);
}

}  // namespace
}  // namespace lci::ds
