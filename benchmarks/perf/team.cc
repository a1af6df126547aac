#include "benchmarks/perf/team.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace perf {

team::team(const job& the_job, int threads, const standing* bound)
    : job_(the_job),
      threads_(threads),
      bound_(bound),
      all_(lci::alloc_thread_team_x(static_cast<size_t>(threads)).runtime(the_job.runtime())()) {}

team::~team() { lci::free_thread_team_x(&all_).runtime(job_.runtime())(); }

// The partners of this rank wait for it: an orderly end would wait for them.
void team::end_process(const std::string& reason) {
  std::fprintf(stderr, "%s: rank %d: %s\n", program_invocation_short_name, job_.rank(),
               reason.c_str());
  std::fflush(nullptr);
  std::_Exit(EXIT_FAILURE);
}

void team::run_one(const std::function<void(int)>& body, int thread) {
  try {
    if (bound_ != nullptr) bind_this_thread(*bound_, thread);
    body(thread);
  } catch (const std::exception& error) {
    end_process(error.what());
  }
}

void team::run(const std::function<void(int)>& body) {
  std::vector<std::thread> others;
  try {
    for (int thread = 1; thread < threads_; ++thread) {
      others.emplace_back([this, &body, thread] { run_one(body, thread); });
    }
  } catch (const std::system_error& error) {
    end_process(std::string("can't start a thread: ") + error.what());
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
