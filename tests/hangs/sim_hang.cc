// A job that hangs over the simulated network, its ranks as threads. usage: sim_hang RANKS CASE
//
// The process writes the report of the job and continues. LCI_HANG_REPORT sets the patience.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lci/base/env.h"
#include "lci/boot/in_process.h"
#include "lci/observe/observer.h"
#include "lci/observe/rank_scope.h"
#include "lci/runtime/instance/runtime.h"
#include "tests/hangs/hang_cases.h"

namespace {

constexpr std::chrono::hours boot_timeout{1};

void run_rank(const std::string& name, std::unique_ptr<lci::boot::bootstrap> for_runtime,
              lci::boot::bootstrap& for_observer, std::chrono::milliseconds patience) {
  const lci::observe::rank_scope scope(for_observer.rank());
  const auto observer = lci::observe::start_observer(for_observer, {patience});
  lci::global_attr_t defaults;
  defaults.backend = lci::attr_backend_t::sim;
  const auto runtime = std::make_unique<lci::runtime_impl_t>(std::move(for_runtime),
                                                             lci::runtime_attr_t(), defaults);
  if (!hangs::run_case(name, {lci::runtime_t(runtime.get()), runtime->rank(), runtime->size()})) {
    std::fprintf(stderr, "sim_hang: there is no case \"%s\"\n", name.c_str());
    std::_Exit(2);
  }
  for (;;) pause();  // the others may need this rank's memory
}

}  // namespace

int main(int argc, char** argv) {
  const int ranks = argc > 1 ? std::atoi(argv[1]) : 0;
  const auto patience = lci::base::env_double("LCI_HANG_REPORT", 30, 0, 1e9);
  if (argc != 3 || ranks < 1 || !patience.ok()) {
    std::fprintf(stderr, "usage: sim_hang RANKS CASE, with LCI_HANG_REPORT in seconds\n");
    return 2;
  }
  const std::chrono::milliseconds in_time(static_cast<int64_t>(*patience * 1000));
  auto of_runtimes = lci::boot::make_in_process_job(ranks, boot_timeout);
  const auto of_observers = lci::boot::make_in_process_job(ranks, boot_timeout);
  std::vector<std::thread> threads;
  for (size_t r = 0; r < of_runtimes.size(); ++r) {
    threads.emplace_back(
        [&, r] { run_rank(argv[2], std::move(of_runtimes[r]), *of_observers[r], in_time); });
  }
  for (std::thread& each : threads) each.join();
}
