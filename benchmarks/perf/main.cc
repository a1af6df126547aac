// lci_perf: latency, message rate and bandwidth between ranks.
//   lcrun -n 2 lci_perf --help
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "benchmarks/perf/options.h"
#include "benchmarks/perf/perf.h"

namespace {

int run(int argc, char** argv) {
  bool help = false;
  perf::options chosen;
  try {
    chosen = perf::parse_options(argc, argv, &help);
  } catch (const perf::usage_error& error) {
    return perf::say_once("", error.what());
  }
  if (help) return perf::say_once(perf::help_text(), "");
  return perf::run_perf(chosen);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "lci_perf: %s\n", error.what());
    return EXIT_FAILURE;
  }
}
