// The binding of threads to processors.
#ifndef BENCHMARKS_PERF_BINDING_H_
#define BENCHMARKS_PERF_BINDING_H_

#include <string>
#include <vector>

namespace perf {

// A processor, and the core that it belongs to.
struct processor {
  int number;
  int core;  // equal for processors that share one
};

// In the order in which threads are to take them: first one of every core, then the second ones.
std::vector<int> places(std::vector<processor> processors);

// The processors that this process may use.
std::vector<processor> allowed_processors();

// Where a rank's threads stand in the row of all threads that may use the same processors.
struct standing {
  int first = 0;  // its first thread
  int all = 1;    // threads in the row
};

// Of this rank, which has so many threads. Collective, on the global runtime.
standing find_standing(int threads);

// Returns the place, out of `places`, of the thread at `position` in a row of `all` threads. Each
// thread has its own place if there are enough; otherwise neighbors in the row share one, so that
// no two ranks share a place as long as there is one for each rank.
int place_of(int position, int all, int places);

// Binds the calling thread, of this number in its rank, to its processor. Throws
// std::runtime_error.
void bind_this_thread(const standing& of_rank, int thread);

// "Intel(R) ... (2 processors)"
std::string processor_name();

}  // namespace perf

#endif  // BENCHMARKS_PERF_BINDING_H_
