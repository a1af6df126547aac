// Time, and what it costs to look at the clock.
#ifndef BENCHMARKS_PERF_CLOCK_H_
#define BENCHMARKS_PERF_CLOCK_H_

#include <chrono>
#include <cstdint>

namespace perf {

inline uint64_t steady_nanoseconds() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

// The processor's own counter, if it counts at one speed always. A look at it costs a third of one
// at the system's clock, which is long compared with a message of 200 ns.
struct cycle_counter {
  double nanoseconds_per_tick = 0;  // 0: there is none
  uint64_t start = 0;
};
extern const cycle_counter the_cycle_counter;

// Nanoseconds since some moment, the same for all threads of a process.
inline uint64_t now() {
#if defined(__x86_64__)
  if (the_cycle_counter.nanoseconds_per_tick > 0) {
    const uint64_t ticks = __builtin_ia32_rdtsc() - the_cycle_counter.start;
    return static_cast<uint64_t>(static_cast<double>(static_cast<int64_t>(ticks)) *
                                 the_cycle_counter.nanoseconds_per_tick);
  }
#endif
  return steady_nanoseconds();
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
