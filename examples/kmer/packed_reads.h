// Stretches of bases without a gap, two bits a base: what is left of the input once it is parsed.
// A quarter of the text's bases, an eighth of a FASTQ file.
#ifndef EXAMPLES_KMER_PACKED_READS_H_
#define EXAMPLES_KMER_PACKED_READS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "examples/kmer/kmer.h"

namespace kmer {

// Not thread-safe. Each stretch begins in a new word; base i of it stands in bits 2 * (i % 32) of
// word i / 32.
class packed_reads {
 public:
  // Stretches shorter than `k` hold no k-mer and are dropped.
  explicit packed_reads(int k) : k_(static_cast<size_t>(k)) {}

  void push(unsigned code) {
    word_ |= uint64_t{code} << shift_;
    ++length_;
    shift_ += 2;
    if (shift_ == 64) next_word();
  }

  // Ends the stretch: an N, or the end of a sequence.
  void cut() {
    if (length_ == 0) return;
    if (shift_ != 0) next_word();
    if (length_ >= k_) {
      lengths_.push_back(length_);
      kmers_ += length_ - k_ + 1;
    } else {
      words_.resize(words_.size() - (length_ + 31) / 32);
    }
    length_ = 0;
  }

  uint64_t kmers() const { return kmers_; }
  void clear() {
    words_.clear();
    lengths_.clear();
    kmers_ = 0;
    length_ = 0;
    word_ = 0;
    shift_ = 0;
  }

  // Calls visit(first word, number of bases) for each stretch, in order. The words are valid until
  // the next call of a member that is not const.
  template <class Visit>
  void for_each_stretch(Visit&& visit) const {
    const uint64_t* words = words_.data();
    for (const size_t length : lengths_) {
      visit(words, length);
      words += (length + 31) / 32;
    }
  }

 private:
  void next_word() {
    words_.push_back(word_);
    word_ = 0;
    shift_ = 0;
  }

  size_t k_;
  std::vector<uint64_t> words_;
  std::vector<size_t> lengths_;  // bases of each stretch
  uint64_t kmers_ = 0;
  size_t length_ = 0;  // of the stretch that is being written
  uint64_t word_ = 0;
  int shift_ = 0;
};

}  // namespace kmer

#endif  // EXAMPLES_KMER_PACKED_READS_H_
