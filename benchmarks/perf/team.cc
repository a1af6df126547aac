#include "benchmarks/perf/team.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <thread>
#include <vector>

namespace perf {

team::team(const job& the_job, int threads, const standing* bound)
    : job_(the_job), threads_(threads), bound_(bound) {}

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
  const uint64_t round = rounds_.load(std::memory_order_acquire);
  waiting_.fetch_add(1, std::memory_order_acq_rel);
  const auto wait_until = [this, thread](auto done) {
    waiter patience;
    while (!done()) {
      patience.after(lci::progress_x().device(job_.device_of(thread))().is_done());
    }
  };
  if (thread != 0) {
    wait_until([&] { return rounds_.load(std::memory_order_acquire) != round; });
    return;
  }
  wait_until([&] { return waiting_.load(std::memory_order_acquire) == threads_; });
  lci::barrier_x().runtime(job_.runtime())();
  waiting_.store(0, std::memory_order_relaxed);
  rounds_.store(round + 1, std::memory_order_release);
}

}  // namespace perf
