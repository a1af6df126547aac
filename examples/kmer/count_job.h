// Counts the k-mers of files with all ranks and threads (SC'25 LCI paper, section 6.3).
//
//   open    look at the files, make the bins
//   divide  read the input: every super-k-mer goes to a bin of the rank that counts its k-mers
//   count   each rank counts the k-mers of its bins; the table's lines go to rank 0, if wanted
//   write   rank 0 completes the results
#ifndef EXAMPLES_KMER_COUNT_JOB_H_
#define EXAMPLES_KMER_COUNT_JOB_H_

#include <string>

#include "examples/kmer/exchange.h"
#include "examples/kmer/options.h"

namespace kmer {

// The summary that a rank sends after counting.
struct outcome {
  bool good = false;
  // Good: on rank 0, lines for people; empty elsewhere. Else: what went wrong, on every rank.
  std::string text;
};

// Every rank calls it with the same options. Results are written on rank 0. Throws network_error.
outcome count_kmers(const options& chosen, exchange* network);

}  // namespace kmer

#endif  // EXAMPLES_KMER_COUNT_JOB_H_
