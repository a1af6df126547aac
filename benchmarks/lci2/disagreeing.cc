// lci2_pairs in which ranks disagree about the bytes of messages: the checked rounds must find out.
#include "benchmarks/lci2/options.h"
#include "benchmarks/lci2/pairs.h"

int main(int argc, char** argv) {
  return lci2::run_main([&] {
    lci::cli::request wanted;
    return lci2::run_pairs(lci2::parse_options(argc, argv, &wanted), /*seed_of_rank=*/true);
  });
}
