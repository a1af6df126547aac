#include "lci/base/bits.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace lci::base {
namespace {

using kind = bit_field<0, 3, uint32_t>;
using rank = bit_field<3, 20, uint32_t>;
using flag = bit_field<31, 1, uint32_t>;
using whole = bit_field<0, 64>;

static_assert(disjoint<kind, rank, flag>());
static_assert(!disjoint<kind, rank, bit_field<2, 2, uint32_t>>());
static_assert(rank::max == 0xfffff && rank::mask == 0x7ffff8);
static_assert(flag::mask == 0x80000000u);
static_assert(whole::max == ~uint64_t{0} && whole::mask == ~uint64_t{0});
static_assert(rank::decode(rank::encode(12345)) == 12345);
static_assert(kind::fits(7) && !kind::fits(8));
static_assert(whole::fits(~uint64_t{0}));

TEST(bit_field, fields_of_a_word_are_independent) {
  const uint32_t word = kind::encode(5) | rank::encode(0xabcde) | flag::encode(1);
  EXPECT_EQ(kind::decode(word), 5u);
  EXPECT_EQ(rank::decode(word), 0xabcdeu);
  EXPECT_EQ(flag::decode(word), 1u);
  const uint32_t other = rank::replace(word, 1);
  EXPECT_EQ(kind::decode(other), 5u);
  EXPECT_EQ(rank::decode(other), 1u);
  EXPECT_EQ(flag::decode(other), 1u);
}

TEST(bit_field, every_width_at_every_offset_of_a_word) {
  EXPECT_EQ((bit_field<0, 1>::encode(1)), 1u);
  EXPECT_EQ((bit_field<63, 1>::encode(1)), uint64_t{1} << 63);
  EXPECT_EQ((bit_field<32, 32>::decode(0x1234567800000000u)), 0x12345678u);
  EXPECT_EQ(whole::decode(whole::encode(0xfedcba9876543210u)), 0xfedcba9876543210u);
}

TEST(bit_field, a_value_that_does_not_fit_never_reaches_a_neighbor) {
#ifdef NDEBUG
  EXPECT_EQ(kind::encode(8 + 2), 2u);
#else
  EXPECT_THROW(kind::encode(8 + 2), check_error);
#endif
}

}  // namespace
}  // namespace lci::base
