// How many iterations fill a time.
#ifndef BENCHMARKS_PERF_DURATION_H_
#define BENCHMARKS_PERF_DURATION_H_

#include <cstdint>
#include <functional>

namespace perf {

// Finds the number of iterations, at least 1, that take about so many seconds, by runs that take a
// fraction of them. run(n) carries out n iterations and returns their nanoseconds. Where ranks run
// together, it returns the same in all of them; then all find the same number.
uint64_t iterations_in(double seconds, const std::function<uint64_t(uint64_t n)>& run);

}  // namespace perf

#endif  // BENCHMARKS_PERF_DURATION_H_
