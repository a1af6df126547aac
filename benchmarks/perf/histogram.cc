#include "benchmarks/perf/histogram.h"

#include <algorithm>
#include <cmath>

namespace perf {

histogram::histogram() : buckets_(bucket_count) {}

void histogram::add(const histogram& other) {
  for (size_t i = 0; i < bucket_count; ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  sum_ += other.sum_;
  max_ = std::max(max_, other.max_);
}

double histogram::mean() const {
  return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_);
}

uint64_t histogram::largest_of(size_t bucket) {
  constexpr size_t exact = size_t{1} << exact_bits;
  if (bucket < exact) return bucket;
  const size_t octave = (bucket - exact) >> sub_bits;
  const size_t leading =
      ((bucket - exact) & ((size_t{1} << sub_bits) - 1)) + (size_t{1} << sub_bits);
  return (uint64_t{leading + 1} << (octave + exact_bits - sub_bits)) - 1;
}

uint64_t histogram::percentile(double part) const {
  if (count_ == 0) return 0;
  const auto wanted =
      std::max<uint64_t>(1, static_cast<uint64_t>(std::ceil(part * static_cast<double>(count_))));
  uint64_t seen = 0;
  for (size_t i = 0; i < bucket_count; ++i) {
    seen += buckets_[i];
    if (seen >= wanted) return std::min(largest_of(i), max_);
  }
  return max_;
}

std::vector<uint64_t> histogram::sums() const {
  std::vector<uint64_t> all = buckets_;
  all.push_back(count_);
  all.push_back(sum_);
  return all;
}

histogram histogram::from(const std::vector<uint64_t>& sums, uint64_t max) {
  histogram result;
  std::copy_n(sums.begin(), bucket_count, result.buckets_.begin());
  result.count_ = sums[bucket_count];
  result.sum_ = sums[bucket_count + 1];
  result.max_ = max;
  return result;
}

}  // namespace perf
