// lci_perf in which ranks disagree about the bytes of messages: --validate must find out.
#include "benchmarks/perf/options.h"
#include "benchmarks/perf/perf.h"
#include "benchmarks/perf/program.h"
#include "lci.hpp"

int main(int argc, char** argv) {
  return perf::run_main("disagreeing", [&] {
    lci::cli::request wanted;
    perf::options chosen = perf::parse_options(argc, argv, &wanted);
    lci::global_initialize();
    chosen.payload_seed = static_cast<uint64_t>(lci::get_rank_me());
    return perf::run_perf(chosen);
  });
}
