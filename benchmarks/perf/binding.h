// Which processor a thread runs on.
#ifndef BENCHMARKS_PERF_BINDING_H_
#define BENCHMARKS_PERF_BINDING_H_

#include <string>
#include <vector>

namespace perf {

// A processor, and the core that it belongs to.
struct processor {
  int number;
  int core;  // equal for those that share one
};

// In the order in which threads are to take them: first one of every core, then the second ones.
std::vector<int> places(std::vector<processor> processors);

// The processors that this process may use.
std::vector<processor> allowed_processors();

// Binds the calling thread to the given place, modulo their number. Throws std::runtime_error.
void bind_this_thread(int place);

// The place of this rank's first thread, so that ranks of a machine that may use the same
// processors take different ones. Collective, on the global runtime.
int first_place(int threads);

// "Intel(R) ... (2 processors)"
std::string processor_name();

}  // namespace perf

#endif  // BENCHMARKS_PERF_BINDING_H_
