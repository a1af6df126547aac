// The tool, without its command line.
#ifndef BENCHMARKS_PERF_PERF_H_
#define BENCHMARKS_PERF_PERF_H_

#include <string>

#include "benchmarks/perf/options.h"

namespace perf {

// Measures and prints on standard output. All ranks of the job call it, before LCI is initialised.
// Returns an exit code: 0, or 2 with a message if the job does not suit. Throws what LCI throws.
int run_perf(const options& chosen);

// What a rank does that has been asked for help, or whose command line is wrong: rank 0 says so for
// all, and they wait until it has, because the first that exits with an error ends the job.
int say_once(const std::string& help, const std::string& problem);

}  // namespace perf

#endif  // BENCHMARKS_PERF_PERF_H_
