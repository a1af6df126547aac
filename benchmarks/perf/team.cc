#include "benchmarks/perf/team.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <thread>
#include <vector>

namespace perf {

team::team(const job& the_job, int threads, const standing* bound)
    : job_(the_job),
      threads_(threads),
      bound_(bound),
      all_(lci::alloc_thread_team_x(static_cast<size_t>(threads)).runtime(the_job.runtime())()) {}

team::~team() { lci::free_thread_team_x(&all_).runtime(job_.runtime())(); }

void team::run_one(const std::function<void(int)>& body, int thread) {
  try {
    if (bound_ != nullptr) bind_this_thread(*bound_, thread);
    body(thread);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: rank %d: %s\n", program_invocation_short_name, job_.rank(),
                 error.what());
    std::fflush(nullptr);
    std::_Exit(EXIT_FAILURE);
  }
}

void team::run(const std::function<void(int)>& body) {
  std::vector<std::thread> others;
  for (int thread = 1; thread < threads_; ++thread) {
    others.emplace_back([this, &body, thread] { run_one(body, thread); });
  }
  run_one(body, 0);
  for (std::thread& other : others) other.join();
}

void team::sync(int thread) {
  lci::barrier_x()
      .thread_team(all_)
      .thread(static_cast<size_t>(thread))
      .runtime(job_.runtime())
      .device(job_.device_of(thread))();
}

}  // namespace perf
