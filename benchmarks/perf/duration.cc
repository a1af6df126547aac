#include "benchmarks/perf/duration.h"

#include <algorithm>

namespace perf {
namespace {

constexpr uint64_t most = uint64_t{1} << 40;

// In a tenth of the time, the overhead of a run matters little.
constexpr double long_enough = 0.1;
// The first runs are slow, so their speed is no reason for a large step.
constexpr uint64_t largest_step = 10;

// Whether the system may have held up a run, which has taken more than twice as much longer than the
// run before as it has more iterations. Of the first run, nothing is known.
bool may_be_held_up(double taken, double before) {
  return before == 0 || taken > 2 * largest_step * before;
}

}  // namespace

uint64_t iterations_in(double seconds, const std::function<uint64_t(uint64_t n)>& run) {
  const double wanted = 1e9 * seconds;
  const auto time_of = [&run](uint64_t n) {
    return static_cast<double>(std::max<uint64_t>(1, run(n)));
  };
  double before = 0;
  for (uint64_t n = 1;; n = std::min(most, n * largest_step)) {
    double taken = time_of(n);
    const auto is_enough = [&] { return taken >= long_enough * wanted || n == most; };
    if (is_enough() && may_be_held_up(taken, before)) taken = std::min(taken, time_of(n));
    before = taken;
    if (!is_enough()) continue;
    const double count = static_cast<double>(n) * wanted / taken;
    return static_cast<uint64_t>(std::clamp(count, 1.0, static_cast<double>(most)));
  }
}

}  // namespace perf
