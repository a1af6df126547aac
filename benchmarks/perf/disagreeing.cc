// lci_perf in which ranks disagree about the bytes of messages: --validate must find out.
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "benchmarks/perf/options.h"
#include "benchmarks/perf/perf.h"
#include "lci.hpp"

int main(int argc, char** argv) {
  try {
    bool help = false;
    perf::options chosen = perf::parse_options(argc, argv, &help);
    lci::global_initialize();
    chosen.payload_seed = static_cast<uint64_t>(lci::get_rank_me());
    return perf::run_perf(chosen);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "disagreeing: %s\n", error.what());
    return EXIT_FAILURE;
  }
}
