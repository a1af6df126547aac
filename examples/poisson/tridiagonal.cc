#include "examples/poisson/tridiagonal.h"

#include <algorithm>

#include "examples/poisson/vectors.h"

namespace poisson {
namespace {

using complex = tridiagonal::complex;

POISSON_VECTORS void multiply(size_t n, const double* factors, complex* numbers) {
  for (size_t m = 0; m < n; ++m) numbers[m] *= factors[m];
}

POISSON_VECTORS void add_and_multiply(size_t n, const complex* added, const double* factors,
                                      complex* numbers) {
  for (size_t m = 0; m < n; ++m) numbers[m] = (numbers[m] + added[m]) * factors[m];
}

// `to` may be `numbers`.
POISSON_VECTORS void add_product(size_t n, const complex* numbers, const double* factors,
                                 const complex* multiplied, complex* to) {
  for (size_t m = 0; m < n; ++m) to[m] = numbers[m] + factors[m] * multiplied[m];
}

}  // namespace

tridiagonal::tridiagonal(const std::vector<double>& diagonal, int rows, int first, int end)
    : modes_(diagonal.size()),
      rows_(end - first),
      is_bottom_(first == 0),
      is_top_(end == rows),
      inverse_(modes_ * static_cast<size_t>(rows_)) {
  std::vector<double> pivot_inverse(modes_, 0);
  for (int j = 0; j < end; ++j) {
    for (size_t m = 0; m < modes_; ++m) {
      pivot_inverse[m] = 1 / (diagonal[m] - pivot_inverse[m]);
      if (j >= first) {
        inverse_[static_cast<size_t>(j - first) * modes_ + m] = pivot_inverse[m];
      }
    }
  }
  if (!is_bottom_) {
    from_below_ = inverse_;
    for (size_t i = modes_; i < from_below_.size(); ++i) from_below_[i] *= from_below_[i - modes_];
  }
  if (!is_top_) {
    from_above_ = inverse_;
    for (size_t i = from_above_.size() - modes_; i-- > 0;)
      from_above_[i] *= from_above_[i + modes_];
  }
}

void tridiagonal::eliminate(int j, complex* plane, const complex* before) const {
  const double* const inverse = row_of(inverse_, j);
  if (before == nullptr) {
    multiply(modes_, inverse, plane);
  } else {
    add_and_multiply(modes_, before, inverse, plane);
  }
}

void tridiagonal::send_up(const complex* last, const complex* below, complex* up) const {
  if (below == nullptr) {
    std::copy_n(last, modes_, up);
  } else {
    add_product(modes_, last, row_of(from_below_, rows_ - 1), below, up);
  }
}

void tridiagonal::substitute(int j, const complex* plane, const complex* after,
                             const complex* below, complex* to) const {
  if (below != nullptr) {
    add_product(modes_, plane, row_of(from_below_, j), below, to);
    plane = to;
  }
  if (after != nullptr) {
    add_product(modes_, plane, row_of(inverse_, j), after, to);
  } else if (plane != to) {
    std::copy_n(plane, modes_, to);
  }
}

void tridiagonal::send_down(const complex* row0, const complex* above, complex* down) const {
  if (above == nullptr) {
    std::copy_n(row0, modes_, down);
  } else {
    add_product(modes_, row0, row_of(from_above_, 0), above, down);
  }
}

void tridiagonal::correct(int j, complex* plane, const complex* above) const {
  add_product(modes_, plane, row_of(from_above_, j), above, plane);
}

}  // namespace poisson
