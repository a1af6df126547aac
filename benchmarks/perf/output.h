// How results are written: as text for people, as CSV, or as JSON.
#ifndef BENCHMARKS_PERF_OUTPUT_H_
#define BENCHMARKS_PERF_OUTPUT_H_

#include <string>

#include "benchmarks/perf/measure.h"
#include "benchmarks/perf/options.h"

namespace perf {

// What has been measured where.
struct surroundings {
  options chosen;
  std::string version;
  std::string backend;
  std::string device;  // network interface; empty: the backend has none, or has chosen
  std::string processor;
  int ranks = 0;
  double clock_ns = 0;  // that a look at the clock takes
};

// What comes before the first size; ends with a newline or is empty.
std::string header(const surroundings& where);
// What is said about a size; ends with a newline.
std::string line(const surroundings& where, const figures& result);

}  // namespace perf

#endif  // BENCHMARKS_PERF_OUTPUT_H_
