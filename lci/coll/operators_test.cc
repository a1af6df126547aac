// The ready-made operators, each on each type, compared with one item at a time.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "lci/api/reduction.hpp"

namespace lci {
namespace {

template <class T>
class Operators : public testing::Test {
 protected:
  // Vectors, parts of vectors, and nothing.
  static constexpr size_t most = 100;

  std::vector<T> random_items(size_t count) {
    std::vector<T> items(count);
    for (T& each : items) {
      if constexpr (std::is_integral_v<T>) {
        each = static_cast<T>(random_());
      } else {
        // Few enough bits for exact products.
        each = static_cast<T>(static_cast<int>(random_() % 2001) - 1000) / 8;
      }
    }
    return items;
  }

  template <class One>
  void check(reduce_op_t op, const One& one) {
    for (size_t n = 0; n <= most; ++n) {
      const std::vector<T> left = random_items(n + 1);
      const std::vector<T> right = random_items(n + 1);
      std::vector<T> expected(n + 1);
      // At an odd place, and without the last one.
      for (size_t i = 1; i < n; ++i) expected[i] = one(left[i], right[i]);
      const size_t items = n == 0 ? 0 : n - 1;
      std::vector<T> out(n + 1);
      op(left.data() + 1, right.data() + 1, out.data() + 1, items);
      ASSERT_EQ(out, expected) << n;
      std::vector<T> place = right;
      op(left.data() + 1, place.data() + 1, place.data() + 1, items);
      place[0] = out[0];
      place[n] = out[n];
      if (n > 0) {
        ASSERT_EQ(place, expected) << "in place of the right operand";
      }
      place = left;
      op(place.data() + 1, right.data() + 1, place.data() + 1, items);
      place[0] = out[0];
      place[n] = out[n];
      if (n > 0) {
        ASSERT_EQ(place, expected) << "in place of the left operand";
      }
    }
  }

  std::mt19937_64 random_{1};
};

using types = testing::Types<char, signed char, unsigned char, short, unsigned short, int, unsigned,
                             long, unsigned long, long long, unsigned long long, char16_t, wchar_t,
                             float, double, long double>;
TYPED_TEST_SUITE(Operators, types);

// As unsigned numbers of 64 bits, which wrap around.
template <class T, class Op>
T wrapped(T a, T b, const Op& op) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(op(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
  } else {
    return op(a, b);
  }
}

TYPED_TEST(Operators, OfAllArithmeticTypes) {
  using T = TypeParam;
  this->check(reduce_sum<T>,
              [](T a, T b) { return wrapped(a, b, [](auto x, auto y) { return x + y; }); });
  this->check(reduce_prod<T>,
              [](T a, T b) { return wrapped(a, b, [](auto x, auto y) { return x * y; }); });
  this->check(reduce_min<T>, [](T a, T b) { return std::min(a, b); });
  this->check(reduce_max<T>, [](T a, T b) { return std::max(a, b); });
}

TYPED_TEST(Operators, OfBits) {
  using T = TypeParam;
  if constexpr (std::is_integral_v<T>) {
    this->check(reduce_bit_and<T>, [](T a, T b) { return static_cast<T>(a & b); });
    this->check(reduce_bit_or<T>, [](T a, T b) { return static_cast<T>(a | b); });
    this->check(reduce_bit_xor<T>, [](T a, T b) { return static_cast<T>(a ^ b); });
  }
}

TEST(OperatorsOnBool, AreLogical) {
  const bool left[] = {false, false, true, true};
  const bool right[] = {false, true, false, true};
  bool out[4];
  const auto are = [&out](bool a, bool b, bool c, bool d) {
    return out[0] == a && out[1] == b && out[2] == c && out[3] == d;
  };
  for (const reduce_op_t each : {reduce_sum<bool>, reduce_max<bool>, reduce_bit_or<bool>}) {
    each(left, right, out, 4);
    EXPECT_TRUE(are(false, true, true, true));
  }
  for (const reduce_op_t each : {reduce_prod<bool>, reduce_min<bool>, reduce_bit_and<bool>}) {
    each(left, right, out, 4);
    EXPECT_TRUE(are(false, false, false, true));
  }
  reduce_bit_xor<bool>(left, right, out, 4);
  EXPECT_TRUE(are(false, true, true, false));
}

TEST(OperatorsOnDoubles, KnowInfinitiesAndZeros) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> left{infinity, -infinity, 0, 1, infinity, 3, 4, 5, 6};
  const std::vector<double> right{1, 1, -1, -infinity, infinity, 3, 2, 7, 0};
  std::vector<double> out(left.size());
  reduce_min<double>(left.data(), right.data(), out.data(), out.size());
  EXPECT_EQ(out, (std::vector<double>{1, -infinity, -1, -infinity, infinity, 3, 2, 5, 0}));
  reduce_max<double>(left.data(), right.data(), out.data(), out.size());
  EXPECT_EQ(out, (std::vector<double>{infinity, 1, 0, 1, infinity, 3, 4, 7, 6}));
}

}  // namespace
}  // namespace lci
