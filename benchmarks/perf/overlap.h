// Overlap of communication and computation: the part of an operation's time that passes while its
// program computes, as the OSU micro-benchmarks define it for non-blocking collectives.
#ifndef BENCHMARKS_PERF_OVERLAP_H_
#define BENCHMARKS_PERF_OVERLAP_H_

#include <cstdint>

namespace perf {

// Arithmetic in registers, by its amount: a thread that loses its processor for a while does not
// compute less. Not thread-safe.
class computation {
 public:
  // Measures the time of a step, which takes about 1 ms.
  computation();

  // The number of steps that take about so many nanoseconds; at least 1.
  uint64_t steps_in(uint64_t nanoseconds) const;
  void run(uint64_t steps);

 private:
  uint64_t value_ = 1;
  double step_ns_ = 0;
};

// Sums over operations, in nanoseconds.
struct overlap_times {
  uint64_t pure = 0;     // of operations without computation, from the start to the end of the wait
  uint64_t total = 0;    // of operations with computation between start and wait: the sum of
  uint64_t start = 0;    // the calls that start the operations,
  uint64_t compute = 0;  // the computation,
  uint64_t progress = 0;  // calls of progress() during the computation
  uint64_t wait = 0;      // and the waits
};

// Means of an operation, in microseconds.
struct overlap_figures {
  double percent = 0;
  double total_us = 0;
  double start_us = 0;
  double compute_us = 0;
  double progress_us = 0;
  double wait_us = 0;
};

// max(0, 100 * (1 - (total - compute) / pure)); 0 if `pure` is 0. All times have the same unit.
double overlap_percent(double pure, double total, double compute);

// operations: so many without computation, and as many with it.
overlap_figures overlap_from(const overlap_times& all, uint64_t operations);

}  // namespace perf

#endif  // BENCHMARKS_PERF_OVERLAP_H_
