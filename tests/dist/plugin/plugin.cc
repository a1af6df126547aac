// A shared library that has all of LCI in it, as a Python module would.
#include <cstdio>
#include <stdexcept>

#include "lci.hpp"

// 0: all is well.
extern "C" int run_plugin() {
  lci::g_runtime_init();
  const int rank = lci::get_rank_me();
  const int ranks = lci::get_rank_n();
  bool refused = false;
  try {
    char byte = 0;
    (void)lci::post_send(ranks, &byte, 1, 0, lci::COMP_NULL);
  } catch (const std::invalid_argument&) {
    refused = true;
  }
  lci::barrier();
  std::printf("rank %d of %d\n", rank, ranks);
  std::fflush(stdout);
  lci::g_runtime_fina();
  return refused ? 0 : 1;
}
