#include "benchmarks/perf/cpu_time.h"

#include <thread>

#include "gtest/gtest.h"

namespace perf {
namespace {

uint64_t sum(const cpu_time& used) { return used.user_ns + used.system_ns; }

TEST(cpu_time, includes_threads_that_have_ended) {
  const cpu_time before = used_cpu_time();
  cpu_time inside;
  std::thread([&] {
    do {
      inside = used_cpu_time() - before;
    } while (sum(inside) < 2000000);
  }).join();
  EXPECT_GE(sum(used_cpu_time() - before), sum(inside));
}

TEST(cpu_time, is_added_and_subtracted_by_its_parts) {
  cpu_time all{5, 7};
  all += cpu_time{10, 20};
  const cpu_time rest = all - cpu_time{1, 2};
  EXPECT_EQ(rest.user_ns, 14U);
  EXPECT_EQ(rest.system_ns, 25U);
}

}  // namespace
}  // namespace perf
