// lci_perf: latency, message rate and bandwidth between ranks.
//   lcrun -n 2 lci_perf --help
#include <cstdlib>

#include "benchmarks/perf/options.h"
#include "benchmarks/perf/perf.h"
#include "benchmarks/perf/program.h"

int main(int argc, char** argv) {
  return perf::run_main("lci_perf", [&] {
    lci::cli::request wanted;
    const perf::options chosen = perf::parse_options(argc, argv, &wanted);
    if (wanted == lci::cli::request::run) {
      if (chosen.stats) ::setenv("LCI_STATS", "1", 1);
      return perf::run_perf(chosen);
    }
    const bool is_help = wanted == lci::cli::request::help;
    return perf::say_once("lci_perf", is_help ? perf::help_text() : perf::version_text(), "");
  });
}
