// The super-k-mers of which one rank counts the k-mers, divided into bins by their minimizers.
//
// No k-mer is in two bins, so each bin is counted by itself, in a table that fits into a cache.
#ifndef EXAMPLES_KMER_KMER_BINS_H_
#define EXAMPLES_KMER_KMER_BINS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "examples/kmer/kmer.h"
#include "examples/kmer/super_kmer.h"

namespace kmer {

class kmer_bins {
 public:
  // `bins` is from 1 to record::max_bins.
  kmer_bins(int k, size_t bins);

  size_t size() const { return bins_.size(); }

  // Keeps a copy of a sequence of records. Any thread, also several at a time. False if `bytes` is not
  // a number of whole records of these bins; those before what is none have been kept.
  bool add(const char* records, size_t bytes);

  // Calls visit(canonical k-mer) for each occurrence of each k-mer of a bin. Different threads may
  // visit different bins; not while add() runs.
  template <class Word, class Visit>
  void for_each_kmer(size_t bin, Visit&& visit) const {
    for (const block& one : bins_[bin].blocks) {
      const auto* at = reinterpret_cast<const unsigned char*>(one.bytes.get());
      const unsigned char* const end = at + one.used;
      while (at != end) {
        const size_t kmers = *at++;
        visit_run<Word>(at, kmers, visit);
        at += record::bytes_of_bases(kmers, k_);
      }
    }
  }

  // Frees the memory of a bin. As for_each_kmer().
  void clear(size_t bin) { bins_[bin].blocks = std::vector<block>(); }

 private:
  // Records without their bins; none is divided between blocks.
  struct block {
    std::unique_ptr<char[]> bytes;
    size_t used;
  };
  struct alignas(64) one_bin {
    std::mutex mutex;  // of add()
    std::vector<block> blocks;
  };

  void append(const record& one);

  template <class Word, class Visit>
  void visit_run(const unsigned char* bases, size_t kmers, Visit&& visit) const {
    Word first;
    std::memcpy(&first, bases, sizeof(first));  // a block has room for a Word behind its end
    window<Word> rolling(k_);
    rolling.load(first);
    visit(rolling.canonical());
    const size_t end = kmers + static_cast<size_t>(k_) - 1;
    for (size_t i = static_cast<size_t>(k_); i < end; ++i) {
      rolling.push(bases[i / 4] >> (2 * (i % 4)) & 3U);
      visit(rolling.canonical());
    }
  }

  const int k_;
  std::vector<one_bin> bins_;
};

}  // namespace kmer

#endif  // EXAMPLES_KMER_KMER_BINS_H_
