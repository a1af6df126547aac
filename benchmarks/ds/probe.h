// Shared by all benchmarks of lci/ds: how they are run, and the probe that runs next to each, the
// rate of raw atomic operations in the same process. Compare figures only with the probe of the
// same run: virtual machines move their cores closer together and further apart, and others may
// use the machine.
//
//   bazel run -c opt //benchmarks/ds:queue_benchmark -- --benchmark_repetitions=9
//
// items_per_second is the sum over all threads. On a busy machine read the line `best` (the fastest
// repetition); the others say how busy it was.
#ifndef BENCHMARKS_DS_PROBE_H_
#define BENCHMARKS_DS_PROBE_H_

#include <algorithm>
#include <memory>
#include <vector>

#include "benchmark/benchmark.h"

namespace lci::ds {

// 1, 2, 4, 8 and 16 threads, by the wall clock.
inline void with_threads(benchmark::internal::Benchmark* b) {
  b->ThreadRange(1, 16)->UseRealTime()->ComputeStatistics("best", [](const std::vector<double>& v) {
    return *std::max_element(v.begin(), v.end());  // of the rates: that is what is compared
  });
}

// The object that a benchmark's threads share: made by the first thread before the loop, which all
// enter together, and destroyed by it after the loop, which all leave together.
template <class T>
class shared_object {
 public:
  template <class Make>
  shared_object(const benchmark::State& state, const Make& make)
      : owner_(state.thread_index() == 0) {
    if (owner_) object_ = make();
  }
  ~shared_object() {
    if (owner_) object_.reset();
  }
  shared_object(const shared_object&) = delete;
  shared_object& operator=(const shared_object&) = delete;

  // Inside the loop only.
  T& get() const { return *object_; }

 private:
  inline static std::unique_ptr<T> object_;
  const bool owner_;
};

}  // namespace lci::ds

#endif  // BENCHMARKS_DS_PROBE_H_
