#include "benchmarks/perf/clock.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace perf {
namespace {

#if defined(__x86_64__)

// Whether it neither stops nor changes its speed when the processor does.
bool counts_steadily() {
  constexpr unsigned power_management = 0x80000007;
  constexpr unsigned invariant = 1u << 8;
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid(power_management, &a, &b, &c, &d) != 0 && (d & invariant) != 0;
}

struct moment {
  uint64_t nanoseconds;
  uint64_t ticks;
};

// Both clocks at once: the best of several tries, since the thread may be interrupted in between.
moment look_at_both() {
  moment best = {};
  uint64_t least = UINT64_MAX;
  for (int i = 0; i < 32; ++i) {
    const uint64_t before = steady_nanoseconds();
    const uint64_t ticks = __builtin_ia32_rdtsc();
    const uint64_t apart = steady_nanoseconds() - before;
    if (apart >= least) continue;
    least = apart;
    best = {before + apart / 2, ticks};
  }
  return best;
}

// Takes some milliseconds.
cycle_counter find_counter() {
  if (!counts_steadily()) return {};
  constexpr uint64_t compared_for = 3'000'000;  // so that an error of 30 ns is 1 in 10^5
  const moment begin = look_at_both();
  moment end = begin;
  while (end.nanoseconds - begin.nanoseconds < compared_for) end = look_at_both();
  return {static_cast<double>(end.nanoseconds - begin.nanoseconds) /
              static_cast<double>(end.ticks - begin.ticks),
          begin.ticks};
}

#else

cycle_counter find_counter() { return {}; }

#endif

}  // namespace

const cycle_counter the_cycle_counter = find_counter();

}  // namespace perf
