// start_loss VICTIM MICROSECONDS: a rank of a job in which VICTIM dies that long after all have
// joined: while they start, or soon after. Each survivor writes one line: when it had the error,
// and which rank the error names. Those with an odd number end by the exception, without a word to
// the job.
#include <sys/time.h>

#include <cstdio>
#include <cstdlib>

#include "lci.hpp"

int main(int, char** argv) {
  const int victim = std::atoi(argv[1]);
  lci::global_initialize();
  const int me = lci::get_rank_me();
  if (me == victim) {
    itimerval timer = {};
    timer.it_value.tv_usec = std::atoi(argv[2]);
    setitimer(ITIMER_REAL, &timer, nullptr);  // SIGALRM ends the process
  }
  const char* when = "start";
  try {
    const lci::runtime_t runtime = lci::alloc_runtime();
    when = "later";
    for (;;) lci::barrier_x().runtime(runtime)();
  } catch (const lci::peer_failure_error& error) {
    std::printf("%s: rank %d lost rank %d: %s\n", when, me, error.failed_rank(), error.what());
    std::fflush(stdout);
    if (me % 2 == 1) throw;
  } catch (const std::exception& error) {
    std::printf("%s: rank %d has an error of another kind: %s\n", when, me, error.what());
  }
  return 0;
}
