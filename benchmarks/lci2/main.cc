// lci2_pairs: a second measurement of what lci_perf measures, written to LCI 2 only.
//   lcrun -n 2 lci2_pairs --help
#include "benchmarks/lci2/options.h"
#include "benchmarks/lci2/pairs.h"

int main(int argc, char** argv) {
  return lci2::run_main([&] {
    lci::cli::request wanted;
    const lci2::options chosen = lci2::parse_options(argc, argv, &wanted);
    if (wanted == lci::cli::request::help) return lci2::print_once(lci2::help_text());
    return lci2::run_pairs(chosen);
  });
}
