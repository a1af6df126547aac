// How results are written: as text for people, as CSV, or as JSON.
#ifndef BENCHMARKS_PERF_OUTPUT_H_
#define BENCHMARKS_PERF_OUTPUT_H_

#include <string>

#include "benchmarks/perf/measure.h"
#include "benchmarks/perf/options.h"

namespace perf {

// A measurement and its conditions.
struct surroundings {
  options chosen;
  std::string version;
  std::string backend;
  std::string device;  // network interface; empty: the backend has none, or has chosen
  std::string processor;
  int ranks = 0;
  double clock_ns = 0;  // that a look at the clock takes
};

// The text before the first size; ends with a newline or is empty.
std::string header(const surroundings& where);
// The text of one size; ends with a newline.
std::string line(const surroundings& where, const figures& result);

}  // namespace perf

#endif  // BENCHMARKS_PERF_OUTPUT_H_
