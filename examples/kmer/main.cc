// kmer count: the k-mer counting stage of the LCI paper, on real input.

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "examples/kmer/count_job.h"
#include "examples/kmer/lci_exchange.h"
#include "examples/kmer/options.h"

namespace {

constexpr int exit_failed = 1;
constexpr int exit_usage = 2;

int run(int argc, char** argv) {
  bool help = false;
  kmer::options chosen;
  std::string usage_problem;
  try {
    chosen = kmer::parse_options(argc, argv, &help);
  } catch (const kmer::usage_error& error) {
    usage_problem = error.what();
  }
  if (help || !usage_problem.empty()) {
    // All ranks have the same command line; rank 0 speaks for them, and the others wait until it
    // has: the first one to exit with an error ends the job.
    lci::g_runtime_init();
    const bool speak = lci::get_rank_me() == 0;
    if (speak && help) std::fputs(kmer::help_text().c_str(), stdout);
    if (speak && !help) {
      std::fprintf(stderr, "kmer: %s\nkmer: see kmer --help\n", usage_problem.c_str());
    }
    lci::g_runtime_fina();
    return help ? EXIT_SUCCESS : exit_usage;
  }

  if (chosen.stats) ::setenv("LCI_STATS", "1", 1);
  kmer::outcome outcome;
  int rank = 0;
  {
    kmer::lci_exchange network(chosen.threads, chosen.buffer_bytes);
    rank = network.rank();
    try {
      outcome = kmer::count_kmers(chosen, &network);
    } catch (const kmer::network_error& error) {
      std::fprintf(stderr, "kmer: rank %d: %s\n", rank, error.what());
      std::fflush(nullptr);
      // Ending LCI properly would take the ranks that are gone.
      std::_Exit(exit_failed);
    }
    if (!outcome.good) std::fprintf(stderr, "kmer: rank %d: %s\n", rank, outcome.text.c_str());
  }
  if (!outcome.good) return exit_failed;
  // Not into the middle of results.
  const bool results_on_stdout = chosen.histogram == "-" || chosen.table == "-";
  std::fputs(outcome.text.c_str(), results_on_stdout ? stderr : stdout);
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "kmer: %s\n", error.what());
    return exit_failed;
  }
}
