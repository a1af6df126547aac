#include "benchmarks/perf/duration.h"

#include <algorithm>

namespace perf {
namespace {

constexpr uint64_t most = uint64_t{1} << 40;

// In a tenth of the time, the overhead of a run matters little.
constexpr double long_enough = 0.1;
// The first runs are slow, so their speed is no reason for a large step.
constexpr uint64_t largest_step = 10;

}  // namespace

uint64_t iterations_in(double seconds, const std::function<uint64_t(uint64_t n)>& run) {
  const double wanted = 1e9 * seconds;
  for (uint64_t n = 1;; n = std::min(most, n * largest_step)) {
    const auto taken = static_cast<double>(std::max<uint64_t>(1, run(n)));
    if (taken < long_enough * wanted && n < most) continue;
    const double count = static_cast<double>(n) * wanted / taken;
    return static_cast<uint64_t>(std::clamp(count, 1.0, static_cast<double>(most)));
  }
}

}  // namespace perf
