#include "benchmarks/threads/spread.h"

#include <algorithm>
#include <cmath>

namespace perf {

void spread::add(double value) {
  spread one;
  one.count_ = 1;
  one.mean_ = one.min_ = one.max_ = value;
  add(one);
}

// T. Chan, G. Golub, R. LeVeque, "Updating Formulae and a Pairwise Algorithm for Computing Sample
// Variances" (1979), equation 2.1.
void spread::add(const spread& other) {
  if (other.count_ == 0) return;
  if (count_ == 0) {
    *this = other;
    return;
  }
  const auto here = static_cast<double>(count_);
  const auto there = static_cast<double>(other.count_);
  const double apart = other.mean_ - mean_;
  squares_ += other.squares_ + apart * apart * here * there / (here + there);
  mean_ += apart * there / (here + there);
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  count_ += other.count_;
}

double spread::standard_deviation() const {
  return count_ == 0 ? 0 : std::sqrt(squares_ / static_cast<double>(count_));
}

double spread::relative_deviation() const {
  return mean_ == 0 ? 0 : standard_deviation() / std::abs(mean_);
}

}  // namespace perf
