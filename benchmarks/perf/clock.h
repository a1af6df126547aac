// Time, and what it costs to look at the clock.
#ifndef BENCHMARKS_PERF_CLOCK_H_
#define BENCHMARKS_PERF_CLOCK_H_

#include <chrono>
#include <cstdint>

namespace perf {

// Nanoseconds since some moment, the same for all threads of a machine.
inline uint64_t now() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

// Nanoseconds that a call of now() takes.
inline double cost_of_now() {
  constexpr int looks = 10000;
  const uint64_t start = now();
  uint64_t end = start;
  for (int i = 0; i < looks; ++i) end = now();
  return static_cast<double>(end - start) / looks;
}

}  // namespace perf

#endif  // BENCHMARKS_PERF_CLOCK_H_
