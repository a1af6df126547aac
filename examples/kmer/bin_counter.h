// How often each k-mer of a bin occurs.
#ifndef EXAMPLES_KMER_BIN_COUNTER_H_
#define EXAMPLES_KMER_BIN_COUNTER_H_

#include <cstddef>
#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "examples/kmer/kmer.h"
#include "examples/kmer/kmer_bins.h"

namespace kmer {

// Counts one bin after the other; each thread has its own.
template <class Word>
class bin_counter {
 public:
  // Calls visit(k-mer, count) for each k-mer of the bin.
  template <class Visit>
  void count(const kmer_bins& bins, size_t bin, Visit&& visit) {
    table_.clear();
    table_.reserve(last_);
    bins.for_each_kmer<Word>(bin, [this](Word word) { ++table_[word]; });
    last_ = table_.size();
    for (const auto& [word, count] : table_) visit(word, count);
  }

 private:
  struct word_hash {
    size_t operator()(Word word) const { return hash(word); }
  };
  absl::flat_hash_map<Word, uint64_t, word_hash> table_;
  size_t last_ = 0;  // k-mers of the bin before
};

}  // namespace kmer

#endif  // EXAMPLES_KMER_BIN_COUNTER_H_
