// A program outside Bazel: it knows the public header and nothing else of the library.

#include <cstdio>
#include <cstdlib>

#include "lci.hpp"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: consumer NUMBER_OF_RANKS_EXPECTED\n");
    return 2;
  }
  lci::g_runtime_init();
  const int me = lci::get_rank_me();
  const int n = lci::get_rank_n();
  lci::barrier();
  std::printf("rank %d of %d\n", me, n);
  lci::g_runtime_fina();
  return n == std::atoi(argv[1]) ? 0 : 1;
}
