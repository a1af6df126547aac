// The state of one rank for the k-mers that it owns: the filter of the first pass, the table of the
// second.
#ifndef EXAMPLES_KMER_KMER_COUNTER_H_
#define EXAMPLES_KMER_KMER_COUNTER_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "examples/kmer/bloom_filter.h"
#include "examples/kmer/kmer.h"
#include "examples/kmer/kmer_table.h"

namespace kmer {

// Thread-safe except for begin_counting() and for_each(). All adding comes before begin_counting(),
// all counting after it, and the caller synchronizes the threads in between.
template <class Word>
class kmer_counter {
 public:
  explicit kmer_counter(size_t bloom_bytes)
      : filter_(std::make_unique<bloom_filter>(bloom_bytes)) {}

  // First pass: `words` occurred once more each.
  void add(const Word* words, size_t count) {
    uint64_t repeated = 0;
    in_blocks(
        words, count, [this](uint64_t kmer_hash) { filter_->prefetch(kmer_hash); },
        [&](Word, uint64_t kmer_hash) { repeated += filter_->add(kmer_hash); });
    repeated_.fetch_add(repeated, std::memory_order_relaxed);
  }

  void begin_counting() { table_ = std::make_unique<kmer_table<Word>>(repeated_.load()); }

  // Second pass, with the same k-mers as the first.
  void count(const Word* words, size_t count) {
    in_blocks(
        words, count,
        [this](uint64_t kmer_hash) {
          filter_->prefetch(kmer_hash);
          table_->prefetch(kmer_hash);
        },
        [this](Word word, uint64_t kmer_hash) {
          if (filter_->seen_twice(kmer_hash)) table_->add(word);
        });
  }

  // Calls visit(word, count) for all k-mers with a count of 2 or more; exactly. False positives of
  // the filter have count 1 and are left out.
  template <class Visit>
  void for_each(Visit&& visit) {
    table_->for_each([&](Word word, uint64_t count) {
      if (count >= 2) visit(word, count);
    });
  }

  size_t bloom_bytes() const { return filter_->bytes(); }

 private:
  // Runs prepare(hash) for a block of k-mers before use(word, hash) for each, so that their memory
  // accesses overlap.
  template <class Prepare, class Use>
  static void in_blocks(const Word* words, size_t count, Prepare&& prepare, Use&& use) {
    constexpr size_t block = 32;
    std::array<uint64_t, block> hashes;
    for (size_t begin = 0; begin < count; begin += block) {
      const size_t n = std::min(block, count - begin);
      for (size_t i = 0; i < n; ++i) {
        hashes[i] = hash(words[begin + i]);
        prepare(hashes[i]);
      }
      for (size_t i = 0; i < n; ++i) use(words[begin + i], hashes[i]);
    }
  }

  std::unique_ptr<bloom_filter> filter_;
  std::unique_ptr<kmer_table<Word>> table_;
  std::atomic<uint64_t> repeated_{0};  // k-mers that reached the filter's second layer
};

}  // namespace kmer

#endif  // EXAMPLES_KMER_KMER_COUNTER_H_
