// The tool, without its command line.
#ifndef BENCHMARKS_PERF_PERF_H_
#define BENCHMARKS_PERF_PERF_H_

#include "benchmarks/perf/options.h"

namespace perf {

// Measures and prints on standard output. All ranks of the job call it, before LCI is initialized.
// Returns an exit code: 0, or 2 with a message if the job does not suit. Throws what LCI throws.
int run_perf(const options& chosen);

}  // namespace perf

#endif  // BENCHMARKS_PERF_PERF_H_
