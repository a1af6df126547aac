#include "benchmarks/perf/overlap.h"

#include <algorithm>

#include "benchmarks/perf/clock.h"

namespace perf {

computation::computation() {
  constexpr uint64_t steps = 20000;
  constexpr int trials = 32;
  uint64_t least = ~uint64_t{0};  // of the trial that others disturbed least
  for (int trial = 0; trial < trials; ++trial) {
    const uint64_t begin = now();
    run(steps);
    least = std::min(least, now() - begin);
  }
  step_ns_ = static_cast<double>(std::max<uint64_t>(1, least)) / static_cast<double>(steps);
}

uint64_t computation::steps_in(uint64_t nanoseconds) const {
  return std::max<uint64_t>(1, static_cast<uint64_t>(static_cast<double>(nanoseconds) / step_ns_));
}

void computation::run(uint64_t steps) {
  uint64_t value = value_;
  for (uint64_t i = 0; i < steps; ++i) {
    value = value * 6364136223846793005u + 1442695040888963407u;
    // The compiler can neither omit a step nor combine two.
    asm volatile("" : "+r"(value));
  }
  value_ = value;
}

double overlap_percent(double pure, double total, double compute) {
  if (pure <= 0) return 0;
  return std::max(0.0, 100 * (1 - (total - compute) / pure));
}

overlap_figures overlap_from(const overlap_times& all, uint64_t operations) {
  const auto us = [operations](uint64_t ns) {
    return 1e-3 * static_cast<double>(ns) / static_cast<double>(std::max<uint64_t>(1, operations));
  };
  overlap_figures result;
  result.percent = overlap_percent(us(all.pure), us(all.total), us(all.compute));
  result.total_us = us(all.total);
  result.start_us = us(all.start);
  result.compute_us = us(all.compute);
  result.progress_us = us(all.progress);
  result.wait_us = us(all.wait);
  return result;
}

}  // namespace perf
