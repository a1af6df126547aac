// How long a job takes to start: N processes are forked, each makes its bootstrap as under lcrun
// and meets the others in one allgather of 64 bytes (what runtimes do: addresses). The time of an
// iteration goes from the first fork to the end of the last process; `slowest_rank_ms` is the
// longest that one rank spent in make_bootstrap() and the allgather.
#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>

#include "benchmark/benchmark.h"
#include "lci/base/strings.h"
#include "lci/boot/bootstrap.h"
#include "lci/boot/job_id.h"
#include "lci/boot/tcp_server.h"

namespace {

using seconds = std::chrono::duration<double>;
using lci::boot::tcp_server;

void set(const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); }

// The rank's process. Reports the seconds that the start took.
[[noreturn]] void run_rank(int rank, int size, int report) {
  set("LCI_RANK", lci::base::StrCat(rank));
  set("LCI_SIZE", lci::base::StrCat(size));
  set("LCI_LOCAL_RANK", lci::base::StrCat(rank));
  set("LCI_LOCAL_SIZE", lci::base::StrCat(size));
  const auto begin = std::chrono::steady_clock::now();
  auto boot = lci::boot::make_bootstrap();
  if (!boot.ok()) ::_exit(1);
  const auto all = (*boot)->allgather("addresses", std::string(64, 'x'), std::chrono::minutes(1));
  if (!all.ok()) ::_exit(1);
  const double took = seconds(std::chrono::steady_clock::now() - begin).count();
  if (::write(report, &took, sizeof took) != sizeof took) ::_exit(1);
  boot->reset();  // leaves the job
  ::_exit(0);
}

// The server has a descriptor for each rank.
void raise_file_limit() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

void start(benchmark::State& state, const char* kind) {
  raise_file_limit();
  const int size = static_cast<int>(state.range(0));
  std::string directory = "/tmp/lci-boot-benchmark-XXXXXX";
  if (::mkdtemp(&directory[0]) == nullptr) return state.SkipWithError("mkdtemp");
  double slowest_sum = 0;
  for (auto _ : state) {
    tcp_server::options options;
    options.bind_address = "127.0.0.1:0";
    options.size = size;
    options.token = lci::boot::random_hex(32);
    options.job_id = lci::boot::random_hex(8);
    const auto server = tcp_server::listen(options);
    int reports[2];
    if (!server.ok() || ::pipe(reports) != 0) return state.SkipWithError("server");
    set("LCI_BOOT", kind);
    set("LCI_BOOT_ADDR", (*server)->address());
    set("LCI_BOOT_TOKEN", options.token);
    set("LCI_BOOT_DIR", directory);
    set("LCI_JOB_ID", options.job_id);
    const auto begin = std::chrono::steady_clock::now();
    for (int rank = 0; rank < size; ++rank) {
      if (::fork() == 0) run_rank(rank, size, reports[1]);
    }
    ::close(reports[1]);
    // The pipe's end is that of the last rank.
    double slowest = 0, took = 0;
    for (bool running = true; running;) {
      pollfd events[2] = {{reports[0], POLLIN, 0}, {(*server)->poll_fd(), POLLIN, 0}};
      ::poll(events, 2, -1);
      (*server)->step();
      if (events[0].revents == 0) continue;
      running = ::read(reports[0], &took, sizeof took) == sizeof took;
      if (running) slowest = std::max(slowest, took);
    }
    for (int status = 0; ::wait(&status) > 0;) {
      if (status != 0) state.SkipWithError("a rank failed");
    }
    state.SetIterationTime(seconds(std::chrono::steady_clock::now() - begin).count());
    ::close(reports[0]);
    slowest_sum += slowest;
  }
  state.counters["slowest_rank_ms"] =
      benchmark::Counter(slowest_sum * 1e3, benchmark::Counter::kAvgIterations);
  ::rmdir(directory.c_str());
}

BENCHMARK_CAPTURE(start, tcp, "tcp")
    ->Arg(2)
    ->Arg(64)
    ->Arg(250)
    ->Arg(500)
    ->Arg(1000)
    ->Arg(2000)
    ->Arg(4000)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(start, file, "file")
    ->Arg(2)
    ->Arg(64)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
