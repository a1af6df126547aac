#include "examples/poisson/tridiagonal.h"

#include <complex>
#include <memory>
#include <random>
#include <vector>

#include "examples/poisson/decomposition.h"
#include "gtest/gtest.h"

namespace poisson {
namespace {

using complex = std::complex<double>;

// All ranks of one column, in their order.
std::vector<complex> solve(const std::vector<double>& diagonal, std::vector<complex> planes,
                           int rows, int ranks) {
  const size_t modes = diagonal.size();
  struct part {
    tridiagonal solver;
    complex* data;
    std::vector<complex> below;
    std::vector<complex> above;
    complex* row(int j) { return data + static_cast<size_t>(j) * solver.modes(); }
  };
  std::vector<part> parts;
  for (int r = 0; r < ranks; ++r) {
    const range own = share(rows, ranks, r);
    parts.push_back({tridiagonal(diagonal, rows, own.begin, own.end),
                     planes.data() + static_cast<size_t>(own.begin) * modes,
                     std::vector<complex>(modes), std::vector<complex>(modes)});
    EXPECT_EQ(parts.back().solver.is_bottom(), r == 0);
    EXPECT_EQ(parts.back().solver.is_top(), r == ranks - 1);
  }
  const auto at = [&](int r) -> part& { return parts[static_cast<size_t>(r)]; };
  for (int r = 0; r < ranks; ++r) {
    part& own = at(r);
    const int last = own.solver.rows() - 1;
    const complex* const below = r == 0 ? nullptr : own.below.data();
    for (int j = 0; j <= last; ++j) {
      own.solver.eliminate(j, own.row(j), j == 0 ? nullptr : own.row(j - 1));
    }
    if (r + 1 < ranks) own.solver.send_up(own.row(last), below, at(r + 1).below.data());
    for (int j = last; j >= 0; --j) {
      own.solver.substitute(j, own.row(j), j == last ? nullptr : own.row(j + 1), below, own.row(j));
    }
  }
  for (int r = ranks - 1; r >= 0; --r) {
    part& own = at(r);
    const complex* const above = r + 1 == ranks ? nullptr : own.above.data();
    if (r > 0) own.solver.send_down(own.row(0), above, at(r - 1).above.data());
    for (int j = 0; above != nullptr && j < own.solver.rows(); ++j) {
      own.solver.correct(j, own.row(j), above);
    }
  }
  return planes;
}

TEST(Tridiagonal, SolvesWhateverRanksHaveTheRows) {
  constexpr int rows = 23;
  const std::vector<double> diagonal = {2, 2.001, 2.5, 6, 1000};
  const size_t modes = diagonal.size();
  std::mt19937 random(1);
  std::uniform_real_distribution<double> number(-1, 1);
  std::vector<complex> right(rows * modes);
  for (complex& each : right) each = {number(random), number(random)};
  for (int ranks : {1, 2, 3, 5, 23}) {
    const std::vector<complex> x = solve(diagonal, right, rows, ranks);
    for (size_t i = 0; i < right.size(); ++i) {
      complex product = diagonal[i % modes] * x[i];
      if (i >= modes) product -= x[i - modes];
      if (i + modes < x.size()) product -= x[i + modes];
      EXPECT_NEAR(std::abs(product - right[i]), 0, 1e-12) << ranks << " ranks, number " << i;
    }
  }
}

}  // namespace
}  // namespace poisson
