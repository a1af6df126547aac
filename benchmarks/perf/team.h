// The threads of a rank.
#ifndef BENCHMARKS_PERF_TEAM_H_
#define BENCHMARKS_PERF_TEAM_H_

#include <functional>
#include <string>

#include "benchmarks/perf/binding.h"
#include "benchmarks/perf/job.h"
#include "lci.hpp"

namespace perf {

class team {
 public:
  // bound: see binding.h; null: threads are not bound. Collective.
  team(const job& the_job, int threads, const standing* bound);
  ~team();
  team(const team&) = delete;
  team& operator=(const team&) = delete;

  // Calls body(thread) in all threads and waits for them. The calling thread is number 0. If one
  // throws, or cannot be started, the process ends with an error, since its partners cannot be
  // notified.
  void run(const std::function<void(int)>& body);

  // All threads of all ranks.
  lci::thread_team_t all() const { return all_; }

  // From inside of body: waits, making progress, until all threads of all ranks have come here.
  void sync(int thread);

 private:
  [[noreturn]] void end_process(const std::string& reason);
  void run_one(const std::function<void(int)>& body, int thread);

  const job& job_;
  const int threads_;
  const standing* const bound_;
  lci::thread_team_t all_;
};

}  // namespace perf

#endif  // BENCHMARKS_PERF_TEAM_H_
