// The set of k-mers that were seen at least twice: a Bloom filter of two layers (SC'25 LCI paper,
// section 6.3, after HipMer). Most k-mers that occur once are sequencing errors; the second layer
// keeps them out of the hash map, which would otherwise hold mostly those.
#ifndef EXAMPLES_KMER_BLOOM_FILTER_H_
#define EXAMPLES_KMER_BLOOM_FILTER_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "examples/kmer/huge_pages.h"
#include "examples/kmer/kmer.h"

namespace kmer {

// Thread-safe and lock-free.
//
// A k-mer has 4 bits in one 64-bit word of each layer, at the same place; the two words are
// neighbors, so that a k-mer costs one cache line.
//   1. All its bits of a layer are set by one atomic operation. So of all threads that add the same
//      k-mer exactly one finds them unset (unless other k-mers set them before), and of two
//      occurrences at least one reaches the second layer: no k-mer that occurs twice is ever lost.
//   2. A k-mer that occurred once can be taken for one that occurred twice, the more often the
//      fuller the filter. That costs memory in the hash map and no exactness, since the map counts.
// Relaxed operations are enough: only the order of modifications of a single word matters for 1,
// and the threads that ask seen_twice() have synchronized with those that added.
class bloom_filter {
 public:
  // About `bytes` of memory, at least one block.
  explicit bloom_filter(size_t bytes) : blocks_(std::max<size_t>(1, bytes / sizeof(block))) {}

  size_t bytes() const { return blocks_.count() * sizeof(block); }

  // Brings the memory of a k-mer nearer.
  void prefetch(uint64_t hash) const { kmer::prefetch(&block_of(hash)); }

  // One occurrence. True if the k-mer has (by our knowledge) just been seen for the second time.
  bool add(uint64_t hash) {
    block& place = block_of(hash);
    const uint64_t bits = bits_of(hash);
    // The plain loads save the bus most of the work: after its second occurrence, a k-mer is only
    // read.
    if ((place.once.load(std::memory_order_relaxed) & bits) != bits &&
        (place.once.fetch_or(bits, std::memory_order_relaxed) & bits) != bits) {
      return false;
    }
    if ((place.twice.load(std::memory_order_relaxed) & bits) == bits) return false;
    return (place.twice.fetch_or(bits, std::memory_order_relaxed) & bits) != bits;
  }

  // Never false for a k-mer that was added twice.
  bool seen_twice(uint64_t hash) const {
    const uint64_t bits = bits_of(hash);
    return (block_of(hash).twice.load(std::memory_order_relaxed) & bits) == bits;
  }

 private:
  struct alignas(16) block {
    std::atomic<uint64_t> once{0};
    std::atomic<uint64_t> twice{0};
  };

  static uint64_t bits_of(uint64_t hash) {
    return uint64_t{1} << (hash & 63) | uint64_t{1} << (hash >> 6 & 63) |
           uint64_t{1} << (hash >> 12 & 63) | uint64_t{1} << (hash >> 18 & 63);
  }
  block& block_of(uint64_t hash) const {
    // The highest bits of the hash chose this rank, so they are equal in all k-mers of this filter;
    // the multiplication moves the lower bits up.
    return blocks_[scale(hash * 0x9fb21c651e98df25, blocks_.count())];
  }

  huge_array<block> blocks_;
};

}  // namespace kmer

#endif  // EXAMPLES_KMER_BLOOM_FILTER_H_
