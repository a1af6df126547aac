// How far values lie apart.
#ifndef BENCHMARKS_THREADS_SPREAD_H_
#define BENCHMARKS_THREADS_SPREAD_H_

#include <cstdint>

namespace perf {

// Not thread-safe.
class spread {
 public:
  void add(double value);
  void add(const spread& other);

  uint64_t count() const { return count_; }
  // All 0 if there are no values.
  double mean() const { return mean_; }
  double min() const { return min_; }
  double max() const { return max_; }
  // Of these values, which are all there are (no estimate from a sample).
  double standard_deviation() const;
  // That, as a part of the mean; 0 if that is 0.
  double relative_deviation() const;

 private:
  uint64_t count_ = 0;
  double mean_ = 0;
  double squares_ = 0;  // sum of squared distances from the mean
  double min_ = 0;
  double max_ = 0;
};

}  // namespace perf

#endif  // BENCHMARKS_THREADS_SPREAD_H_
