// How long things took, in little memory and with little work.
#ifndef BENCHMARKS_PERF_HISTOGRAM_H_
#define BENCHMARKS_PERF_HISTOGRAM_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace perf {

// Counts values. A value below 512 is kept exactly, a larger one as a value up to 0.4 % larger;
// sum and largest are exact. Not thread-safe.
class histogram {
 public:
  histogram();

  void add(uint64_t value) {
    ++buckets_[bucket_of(value)];
    ++count_;
    sum_ += value;
    if (value > max_) max_ = value;
  }
  void add(const histogram& other);

  uint64_t count() const { return count_; }
  uint64_t max() const { return max_; }
  uint64_t sum() const { return sum_; }
  double mean() const;  // 0 if there are no values
  // The value that the given part of all values, 0 to 1, does not exceed (nearest rank). 0 if there
  // are no values.
  uint64_t percentile(double part) const;

  // For adding up those of several ranks: numbers to be added one by one, and the largest.
  std::vector<uint64_t> sums() const;
  static histogram from(const std::vector<uint64_t>& sums, uint64_t max);

 private:
  static constexpr int exact_bits = 9;     // values of so many bits have a bucket each
  static constexpr int sub_bits = 8;       // the others share by their first 1 + 8 bits
  static constexpr int largest_bits = 48;  // as nanoseconds, three days
  static constexpr size_t bucket_count =
      (size_t{1} << exact_bits) + (size_t{largest_bits - exact_bits} << sub_bits);

  static size_t bucket_of(uint64_t value);
  static uint64_t largest_of(size_t bucket);

  std::vector<uint64_t> buckets_;
  uint64_t count_ = 0;
  uint64_t sum_ = 0;
  uint64_t max_ = 0;
};

inline size_t histogram::bucket_of(uint64_t value) {
  if (value < (uint64_t{1} << exact_bits)) return value;
  constexpr uint64_t largest = (uint64_t{1} << largest_bits) - 1;
  if (value > largest) value = largest;
  const int bits = 64 - __builtin_clzll(value);  // exact_bits + 1 to largest_bits
  const uint64_t leading = (value >> (bits - 1 - sub_bits)) - (uint64_t{1} << sub_bits);
  return (size_t{1} << exact_bits) + (static_cast<size_t>(bits - 1 - exact_bits) << sub_bits) +
         leading;
}

}  // namespace perf

#endif  // BENCHMARKS_PERF_HISTOGRAM_H_
