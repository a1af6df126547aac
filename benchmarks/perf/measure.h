// Measures one size after the other, and brings the times of all ranks together.
#ifndef BENCHMARKS_PERF_MEASURE_H_
#define BENCHMARKS_PERF_MEASURE_H_

#include <cstddef>
#include <cstdint>
#include <functional>

#include "benchmarks/perf/binding.h"
#include "benchmarks/perf/cpu_time.h"
#include "benchmarks/perf/histogram.h"
#include "benchmarks/perf/options.h"
#include "benchmarks/perf/overlap.h"

namespace perf {

// The final results for a size.
struct figures {
  size_t size = 0;
  uint64_t iterations = 0;
  double latency_us_mean = 0;
  double latency_us_p50 = 0;
  double latency_us_p90 = 0;
  double latency_us_p99 = 0;
  double latency_us_p999 = 0;
  double latency_us_max = 0;
  double messages_per_s = 0;  // of all ranks, in both directions
  double bytes_per_s = 0;
  double cpu_user_us = 0;  // processor time of all ranks, per message
  double cpu_system_us = 0;
  overlap_figures overlap;  // with --overlap; the latency is then that without computation
};

// The contribution of a rank to them. Times are in nanoseconds.
struct times {
  histogram samples;
  uint64_t mean_total = 0;  // of this run of these threads, from end to end, a mean can be made
  uint64_t mean_steps = 0;  // from so many steps; 0: it is that of the samples
  uint64_t longest = 0;     // of the run that messages are counted in
  cpu_time cpu;             // of that run
};

// Adds up those of all ranks, for rank 0; what the others get means nothing. Collective, on the
// global runtime.
times combined(const times& own);
overlap_times combined(const overlap_times& own);

// The largest of the ranks' values, for all of them. Collective, on the global runtime.
uint64_t largest_of_ranks(uint64_t own);

// How long the measured runs of a size are. run(n) carries out n iterations in all ranks and
// returns the nanoseconds of this one. Collective, on the global runtime.
struct run_counts {
  uint64_t warmup = 0;
  uint64_t measured = 0;
};
run_counts counts_for(const options& chosen, size_t size,
                      const std::function<uint64_t(uint64_t n)>& run);

// samples_per_latency: 2 if a sample is a round trip and half of it is reported.
figures figures_from(const times& all, size_t size, uint64_t iterations, uint64_t messages,
                     int samples_per_latency);

// All sizes. bound: see binding.h; null: threads are not bound.
// Collective, on the global runtime; rank 0 gets the figures of each size as soon as it is
// measured.
using report = std::function<void(const figures&)>;
void measure_messages(const options& chosen, const standing* bound, const report& output);
void measure_collectives(const options& chosen, const standing* bound, const report& output);
void measure_connections(const options& chosen, const standing* bound, const report& output);

}  // namespace perf

#endif  // BENCHMARKS_PERF_MEASURE_H_
