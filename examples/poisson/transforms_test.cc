#include "examples/poisson/transforms.h"

#include <cmath>
#include <complex>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace poisson {
namespace {

using complex = transforms::complex;

std::vector<double> random_numbers(size_t n) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> number(-1, 1);
  std::vector<double> made(n);
  for (double& each : made) each = number(random);
  return made;
}

// Mode k, by its definition.
complex mode_of(const std::vector<double>& row, int k) {
  complex sum = 0;
  for (size_t i = 0; i < row.size(); ++i) {
    sum += row[i] * std::polar(1.0, -2 * std::acos(-1.0) * k * static_cast<double>(i) /
                                        static_cast<double>(row.size()));
  }
  return sum;
}

TEST(Transforms, TwoRealRowsAreOneOfComplexNumbers) {
  for (const int points : {2, 4, 10, 64}) {
    const auto n = static_cast<size_t>(points);
    const std::vector<double> numbers = random_numbers(2 * n);
    const std::vector<double> first(numbers.begin(), numbers.begin() + points);
    const std::vector<double> second(numbers.begin() + points, numbers.end());
    std::vector<complex> pair(n);
    for (size_t i = 0; i < n; ++i) pair[i] = {first[i], second[i]};
    const transforms each(points, 1, 4, 3, planning::estimate);
    each.forward_x(pair.data());

    // In as many parts as ranks might have.
    const int modes = points / 2 + 1;
    std::vector<complex> first_modes(n), second_modes(n);
    for (const int parts : {1, 2, 3}) {
      std::vector<complex> joined(n, complex(7, 7));
      for (int i = 0; i < parts; ++i) {
        const int begin = modes * i / parts;
        const int end = modes * (i + 1) / parts;
        split_modes(pair.data(), points, begin, end, &first_modes[static_cast<size_t>(begin)],
                    &second_modes[static_cast<size_t>(begin)]);
        join_modes(&first_modes[static_cast<size_t>(begin)],
                   &second_modes[static_cast<size_t>(begin)], points, begin, end, joined.data());
      }
      for (int k = 0; k < modes; ++k) {
        const auto at = static_cast<size_t>(k);
        EXPECT_NEAR(std::abs(first_modes[at] - mode_of(first, k)), 0, 1e-13) << k;
        EXPECT_NEAR(std::abs(second_modes[at] - mode_of(second, k)), 0, 1e-13) << k;
      }
      each.backward_x(joined.data());
      for (size_t i = 0; i < n; ++i) {
        EXPECT_NEAR(joined[i].real(), first[i] * points, 1e-12);
        EXPECT_NEAR(joined[i].imag(), second[i] * points, 1e-12);
      }
    }
  }
}

TEST(Transforms, ColumnsThereAndBack) {
  constexpr int points = 6;
  constexpr int columns = 5;
  const std::vector<double> numbers = random_numbers(points * columns);
  const std::vector<complex> before(numbers.begin(), numbers.end());
  std::vector<complex> plane = before;
  const transforms each(4, 1, points, columns, planning::estimate);
  each.forward_y(plane.data());
  for (size_t c = 0; c < columns; ++c) {
    std::vector<double> column;
    for (size_t i = c; i < numbers.size(); i += columns) column.push_back(numbers[i]);
    for (size_t k = 0; k < points; ++k) {
      EXPECT_NEAR(std::abs(plane[k * columns + c] - mode_of(column, static_cast<int>(k))), 0,
                  1e-14);
    }
  }
  const std::vector<complex> modes = plane;
  std::vector<complex> other(before.size());
  each.backward_y(plane.data(), other.data());
  EXPECT_EQ(plane, modes) << "what it comes from is left alone";
  each.backward_y(plane.data());
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_NEAR(std::abs(other[i] - before[i] * double{points}), 0, 1e-13);
    EXPECT_NEAR(std::abs(plane[i] - before[i] * double{points}), 0, 1e-13);
  }
}

}  // namespace
}  // namespace poisson
