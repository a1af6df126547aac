// How far apart the first two processors are that this process may use: how long a cache line takes
// one way, in ns. usage: cacheline_probe [MILLISECONDS]     (default 3); prints one number. A
// virtual machine's processors may be moved by the host while it runs; every figure of shared
// memory follows. The median of many short stretches, so that being interrupted does not look like
// distance.
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "benchmarks/compare/pair_options.h"

namespace {

struct alignas(128) line_t {
  std::atomic<uint32_t> value{0};
};

constexpr uint32_t round_trips_per_stretch = 200;
constexpr uint32_t stop = UINT32_MAX;

int usable_processors() {
  cpu_set_t allowed;
  return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
}

}  // namespace

int main(int argc, char** argv) {
  char* end = nullptr;
  const double milliseconds = argc > 1 ? std::strtod(argv[1], &end) : 3;
  if (argc > 2 || !(milliseconds > 0 && milliseconds <= 1000) || (end != nullptr && *end != '\0')) {
    std::fprintf(stderr, "usage: cacheline_probe [MILLISECONDS, at most 1000]\n");
    return 2;
  }
  if (usable_processors() < 2) {
    std::fprintf(stderr,
                 "cacheline_probe: only one processor may be used, so there is no distance\n");
    return 1;
  }
  using clock = std::chrono::steady_clock;
  line_t there;
  line_t back;
  std::thread echo([&] {
    compare::bind_to_core(1);
    for (uint32_t seen = 0;;) {
      const uint32_t value = there.value.load(std::memory_order_acquire);
      if (value == seen) {
        continue;
      }
      if (value == stop) {
        return;
      }
      seen = value;
      back.value.store(value, std::memory_order_release);
    }
  });
  compare::bind_to_core(0);
  uint32_t number = 0;
  const auto stretch = [&] {
    const auto start = clock::now();
    for (uint32_t i = 0; i < round_trips_per_stretch; ++i) {
      ++number;
      there.value.store(number, std::memory_order_release);
      while (back.value.load(std::memory_order_acquire) != number) {
      }
    }
    const std::chrono::duration<double, std::nano> elapsed = clock::now() - start;
    return static_cast<float>(elapsed.count() / round_trips_per_stretch / 2);
  };
  stretch();  // the thread has started
  std::vector<float> one_way_ns;
  const auto until = clock::now() + std::chrono::duration_cast<clock::duration>(
                                        std::chrono::duration<double, std::milli>(milliseconds));
  do {
    one_way_ns.push_back(stretch());
  } while (clock::now() < until);
  there.value.store(stop, std::memory_order_release);
  echo.join();
  std::printf("%.1f\n", compare::percentile(&one_way_ns, 0.5));
  return 0;
}
