#include "lci/runtime/core/rmr.h"

#include "gtest/gtest.h"

namespace lci::rt {
namespace {

constexpr uintptr_t address = 0x7f12'3456'7890;

TEST(Rmr, KeepsWhatANetworkNamesMemoryBy) {
  const uint64_t bases[] = {0,                                // an offset from the beginning
                            65535,                            // a number
                            address,                          // the address
                            uint64_t{65535} << 48 | address,  // of two networks
                            uint64_t{1} << 48};               // of two networks, without address
  for (uint64_t base : bases) {
    for (uint64_t size : {uint64_t{0}, uint64_t{1}, rmr_max_size}) {
      for (uint64_t key : {uint64_t{1}, ~uint64_t{0}}) {
        rmr_t rmr;
        ASSERT_TRUE(make_rmr({base, key}, address, size, &rmr)) << base;
        EXPECT_EQ(rmr.base, address);
        EXPECT_EQ(rmr_size(rmr), size);
        EXPECT_EQ(rmr_region(rmr).base, base);
        EXPECT_EQ(rmr_region(rmr).key, key);
      }
    }
  }
}

TEST(Rmr, RefusesWhatItHasNoRoomFor) {
  rmr_t rmr;
  EXPECT_FALSE(make_rmr({address + 1, 1}, address, 1, &rmr)) << "another address";
  EXPECT_FALSE(make_rmr({65536, 1}, address, 1, &rmr)) << "a number of more than 16 bits";
  EXPECT_FALSE(make_rmr({0, 1}, address, rmr_max_size + 1, &rmr));
  EXPECT_TRUE(rmr.is_empty()) << "nothing was written";
}

}  // namespace
}  // namespace lci::rt
