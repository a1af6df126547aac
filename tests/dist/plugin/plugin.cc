// A shared library that has all of LCI in it, as a Python module would. A function returns 0 if all
// is well.
#include <cstdio>
#include <stdexcept>

#include "lci.hpp"

#define PLUGIN_API extern "C" __attribute__((visibility("default")))

PLUGIN_API int begin_plugin() {
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
  return refused ? 0 : 1;
}

// A message of the rank to itself.
PLUGIN_API int use_plugin() {
  lci::comp_t received = lci::alloc_cq();
  int number = 0;
  const int sent = 42;
  const int rank = lci::get_rank_me();
  bool is_there = lci::post_recv(rank, &number, sizeof(number), 0, received).is_done();
  while (lci::post_send(rank, &sent, sizeof(sent), 0, lci::COMP_NULL).is_retry()) lci::progress();
  while (!is_there) {
    lci::progress();
    is_there = lci::cq_pop(received).is_done();
  }
  lci::free_comp(&received);
  return number == sent ? 0 : 1;
}

PLUGIN_API int end_plugin() {
  lci::g_runtime_fina();
  return 0;
}
