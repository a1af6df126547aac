// The time that the processors have worked for a process.
#ifndef BENCHMARKS_PERF_CPU_TIME_H_
#define BENCHMARKS_PERF_CPU_TIME_H_

#include <cstdint>

namespace perf {

struct cpu_time {
  uint64_t user_ns = 0;
  uint64_t system_ns = 0;

  cpu_time operator-(const cpu_time& before) const {
    return {user_ns - before.user_ns, system_ns - before.system_ns};
  }
  cpu_time& operator+=(const cpu_time& more) {
    user_ns += more.user_ns;
    system_ns += more.system_ns;
    return *this;
  }
};

// Of all threads of this process since it began, those of libraries and those that have ended
// included. Steps of a microsecond.
cpu_time used_cpu_time();

}  // namespace perf

#endif  // BENCHMARKS_PERF_CPU_TIME_H_
