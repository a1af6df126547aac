// The command line.
#ifndef EXAMPLES_KMER_OPTIONS_H_
#define EXAMPLES_KMER_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tools/cli/cli.h"

namespace kmer {

namespace cli = lci::cli;
using cli::usage_error;

constexpr size_t least_buffer_bytes = 128;  // of an aggregation buffer

enum class when { automatic, always, never };

struct options {
  int k = 51;
  int threads = 1;
  size_t buffer_bytes = 8192;       // of each aggregation buffer
  std::string histogram;            // file; empty: none
  uint64_t histogram_high = 10000;  // larger counts are lumped together
  std::string table;                // file; empty: none
  uint64_t min_count = 2;           // in the table
  when progress = when::automatic;
  bool stats = false;
  std::vector<std::string> files;
};

// Reads the command line. Throws usage_error. Sets *help if the user asked for it; the result then
// means nothing.
options parse_options(int argc, char** argv, bool* help);

// The output of --help.
std::string help_text();

}  // namespace kmer

#endif  // EXAMPLES_KMER_OPTIONS_H_
