// The measurements of lci2_pairs.
#ifndef BENCHMARKS_LCI2_PAIRS_H_
#define BENCHMARKS_LCI2_PAIRS_H_

#include <functional>
#include <string>

#include "benchmarks/lci2/options.h"

namespace lci2 {

// Calls `body`, which returns the exit code, and turns exceptions into messages and exit codes:
// 2 for cli::usage_error, else 1.
int run_main(const std::function<int()>& body);

// Rank 0 prints the text on standard output. All ranks call it, before LCI is initialized.
int print_once(const std::string& text);

// Measures and prints. All ranks call it, before LCI is initialized. Returns the exit code: 0, or 2
// with a message if the job does not suit. A wrong message ends the process with the exit code 1.
// seed_of_rank: for a test, ranks disagree about the bytes of messages.
int run_pairs(const options& chosen, bool seed_of_rank = false);

}  // namespace lci2

#endif  // BENCHMARKS_LCI2_PAIRS_H_
