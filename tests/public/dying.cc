// dying HOW: rank 0 dies of a signal, HOW being its number (0: of none), after all have started;
// the others communicate until they are ended.
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "lci.hpp"

int main(int, char** argv) {
  lci::g_runtime_init();
  lci::barrier();
  std::printf("started\n");
  std::fflush(stdout);
  if (lci::get_rank_me() == 0) std::raise(std::atoi(argv[1]));
  for (;;) {
    try {
      lci::progress();
    } catch (const lci::peer_failure_error&) {
    }
  }
}
