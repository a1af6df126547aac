// A test as one pair of threads carries it out.
#ifndef BENCHMARKS_PERF_PATTERN_H_
#define BENCHMARKS_PERF_PATTERN_H_

#include <cstdint>
#include <memory>

#include "benchmarks/perf/channel.h"
#include "benchmarks/perf/histogram.h"

namespace perf {

// No state: all threads use one.
class pattern {
 public:
  virtual ~pattern() = default;
  // Before a run of n iterations; the partner begins only when both have done this.
  virtual void prepare(channel& way, uint64_t n) const = 0;
  // A run. Waits at its end until the partner's is over, too; returns when that of this side was.
  // samples: nanoseconds, one for each step; null: the clock is not looked at.
  virtual uint64_t run(channel& way, uint64_t n, histogram* samples) const = 0;
};

// latency of operations with a signal at the target: to and fro. A sample is a round trip, and each
// side has its own.
std::unique_ptr<pattern> make_pingpong(bool first);

// All others: batches one after the other. A sample is a batch, from its first call until it is
// acknowledged or, for put and get, complete; only the initiator has samples.
std::unique_ptr<pattern> make_stream(bool is_initiator, bool is_target);

}  // namespace perf

#endif  // BENCHMARKS_PERF_PATTERN_H_
