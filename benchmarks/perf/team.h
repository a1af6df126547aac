// The threads of a rank.
#ifndef BENCHMARKS_PERF_TEAM_H_
#define BENCHMARKS_PERF_TEAM_H_

#include <atomic>
#include <functional>

#include "benchmarks/perf/binding.h"
#include "benchmarks/perf/job.h"

namespace perf {

class team {
 public:
  // bound: see binding.h; null: threads are not bound.
  team(const job& the_job, int threads, const standing* bound);

  // Calls body(thread) in all threads, of which this one is number 0, and waits for them. If one
  // throws, the process ends with an error, since its partners cannot be notified.
  void run(const std::function<void(int)>& body);

  // From inside of body: waits, making progress, until all threads of all ranks have come here.
  void sync(int thread);

 private:
  void run_one(const std::function<void(int)>& body, int thread);

  const job& job_;
  const int threads_;
  const standing* const bound_;
  std::atomic<int> waiting_{0};
  std::atomic<uint64_t> rounds_{0};
};

}  // namespace perf

#endif  // BENCHMARKS_PERF_TEAM_H_
