#include "examples/poisson/tridiagonal.h"

namespace poisson {

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
    for (size_t m = 0; m < modes_; ++m) plane[m] *= inverse[m];
  } else {
    for (size_t m = 0; m < modes_; ++m) plane[m] = (plane[m] + before[m]) * inverse[m];
  }
}

void tridiagonal::send_up(const complex* last, const complex* below, complex* up) const {
  if (below == nullptr) {
    for (size_t m = 0; m < modes_; ++m) up[m] = last[m];
    return;
  }
  const double* const factor = row_of(from_below_, rows_ - 1);
  for (size_t m = 0; m < modes_; ++m) up[m] = last[m] + factor[m] * below[m];
}

void tridiagonal::substitute(int j, complex* plane, const complex* after,
                             const complex* below) const {
  if (below != nullptr) {
    const double* const factor = row_of(from_below_, j);
    for (size_t m = 0; m < modes_; ++m) plane[m] += factor[m] * below[m];
  }
  if (after != nullptr) {
    const double* const inverse = row_of(inverse_, j);
    for (size_t m = 0; m < modes_; ++m) plane[m] += inverse[m] * after[m];
  }
}

void tridiagonal::send_down(const complex* row0, const complex* above, complex* down) const {
  if (above == nullptr) {
    for (size_t m = 0; m < modes_; ++m) down[m] = row0[m];
    return;
  }
  const double* const factor = row_of(from_above_, 0);
  for (size_t m = 0; m < modes_; ++m) down[m] = row0[m] + factor[m] * above[m];
}

void tridiagonal::correct(int j, complex* plane, const complex* above) const {
  const double* const factor = row_of(from_above_, j);
  for (size_t m = 0; m < modes_; ++m) plane[m] += factor[m] * above[m];
}

}  // namespace poisson
