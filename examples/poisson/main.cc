// poisson: a solver whose ranks transpose and exchange halos, by messages or by notified puts.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "examples/poisson/lci_transport.h"
#include "examples/poisson/options.h"
#include "examples/poisson/run.h"
#include "lci.hpp"

namespace {

constexpr int exit_failed = 1;
constexpr int exit_usage = 2;

const std::vector<poisson::mode>& modes() {
  static const std::vector<poisson::mode> all = {
      {"notified", "plans of puts, straight into place, that signal the receiver"},
      {"messages", "send and receive of what was packed"},
  };
  return all;
}

// All ranks have the same command line; rank 0 speaks for them, and the others wait until it has:
// the first one to exit with an error ends the job.
void say(std::FILE* where, const std::string& text) {
  if (lci::get_rank_me() == 0) {
    std::fputs(text.c_str(), where);
    std::fflush(where);
  }
  lci::barrier();
}

int run(int argc, char** argv) {
  bool help = false;
  poisson::options chosen;
  try {
    chosen = poisson::parse_options(argc, argv, modes(), &help);
    if (help) {
      say(stdout, poisson::help_text("lcrun -n RANKS poisson", modes()));
      return EXIT_SUCCESS;
    }
    const std::unique_ptr<poisson::transport> network = chosen.mode == "messages"
                                                            ? poisson::make_message_transport()
                                                            : poisson::make_notified_transport();
    const poisson::outcome outcome = poisson::run(chosen, "poisson", *network);
    say(outcome.good ? stdout : stderr, outcome.text);
    return outcome.good ? EXIT_SUCCESS : exit_failed;
  } catch (const poisson::usage_error& error) {
    say(stderr, std::string("poisson: ") + error.what() + "\npoisson: see poisson --help\n");
    return exit_usage;
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    lci::g_runtime_init();
    const int code = run(argc, argv);
    lci::g_runtime_fina();
    return code;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "poisson: %s\n", error.what());
    std::fflush(nullptr);
    // Ending LCI properly would take the ranks that are gone.
    std::_Exit(exit_failed);
  }
}
