#include "benchmarks/perf/cpu_time.h"

#include <sys/resource.h>

namespace perf {
namespace {

uint64_t nanoseconds(const timeval& time) {
  return static_cast<uint64_t>(time.tv_sec) * 1000000000 +
         static_cast<uint64_t>(time.tv_usec) * 1000;
}

}  // namespace

cpu_time used_cpu_time() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return {nanoseconds(usage.ru_utime), nanoseconds(usage.ru_stime)};
}

}  // namespace perf
