// Super-k-mers: the form in which k-mers travel and wait to be counted.
//
// Consecutive k-mers of a read share all bases but one. So n of them are sent as one run of n + k - 1
// bases instead of n * k. The minimizer of a k-mer decides which rank counts it: of all pieces of m
// bases within the k-mer (m-mers), each taken in its canonical form, the one with the lowest hash.
// A k-mer and its reverse complement have the same minimizer, so all occurrences of both come to
// one place; and neighbors mostly have the same, since they share most of their m-mers. A
// super-k-mer is a run of k-mers with one minimizer.
//
// Sources: minimizers, Roberts et al., "Reducing storage requirements for biological sequence
// comparison" (Bioinformatics 2004); runs of one minimizer as the unit of distribution, Li et al.,
// "Memory efficient minimum substring partitioning" (VLDB 2013); counting them bin by bin,
// Deorowicz et al., "KMC 2: fast and resource-frugal k-mer counting" (Bioinformatics 2015).
#ifndef EXAMPLES_KMER_SUPER_KMER_H_
#define EXAMPLES_KMER_SUPER_KMER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "examples/kmer/kmer.h"

namespace kmer {

// Their number fits into a byte of a record.
constexpr size_t max_run_kmers = 255;

// A short minimizer makes long runs, a long one makes many different minimizers, hence bins of even
// sizes.
inline int minimizer_length(int k) { return std::min(k, 11); }

struct super_kmer {
  const uint64_t* words;  // of the stretch, as packed_reads has it
  size_t first;           // base of the stretch
  size_t kmers;           // 1 to max_run_kmers
  uint32_t minimizer;     // its hash
};

// Divides stretches into super-k-mers. Not thread-safe.
class super_kmer_finder {
 public:
  explicit super_kmer_finder(int k)
      : k_(static_cast<size_t>(k)), m_(static_cast<size_t>(minimizer_length(k))) {}

  // Calls visit(super_kmer) for all of a stretch of `length` bases, at least k, in order.
  template <class Visit>
  void for_each(const uint64_t* words, size_t length, Visit&& visit) {
    hash_all(words, length);
    const uint32_t* const hashes = hashes_.data();
    const size_t kmers = length - k_ + 1;
    const size_t width = k_ - m_ + 1;  // m-mers of a k-mer
    size_t begin = 0;                  // of the run
    size_t lowest = lowest_of(0, width);
    for (size_t i = 1; i < kmers; ++i) {
      const size_t last = i + width - 1;
      size_t next = lowest;
      if (hashes[last] <= hashes[lowest]) {
        next = last;
      } else if (lowest < i) {
        next = lowest_of(i, width);
      }
      if (hashes[next] != hashes[lowest] || i - begin == max_run_kmers) {
        visit(super_kmer{words, begin, i - begin, hashes[lowest]});
        begin = i;
      }
      lowest = next;
    }
    visit(super_kmer{words, begin, kmers - begin, hashes[lowest]});
  }

 private:
  // Bijective, so that different m-mers have different hashes; the order of the m-mers themselves
  // would prefer those of one base, which are frequent.
  static uint32_t mix(uint32_t mmer) {
    mmer *= 0x9e3779b1U;
    mmer ^= mmer >> 15;
    mmer *= 0x85ebca77U;
    return mmer ^ mmer >> 13;
  }

  void hash_all(const uint64_t* words, size_t length) {
    hashes_.resize(std::max(hashes_.size(), length - m_ + 1));
    window<uint32_t> rolling(static_cast<int>(m_));
    uint64_t word = 0;
    for (size_t i = 0; i < length; ++i, word >>= 2) {
      if (i % 32 == 0) word = *words++;
      rolling.push(static_cast<unsigned>(word & 3));
      if (i + 1 >= m_) hashes_[i + 1 - m_] = mix(rolling.canonical());
    }
  }

  // The last of the lowest.
  size_t lowest_of(size_t begin, size_t count) const {
    size_t lowest = begin;
    for (size_t i = begin + 1; i < begin + count; ++i) {
      if (hashes_[i] <= hashes_[lowest]) lowest = i;
    }
    return lowest;
  }

  const size_t k_;
  const size_t m_;
  std::vector<uint32_t> hashes_;  // of the m-mer that begins at each base of the stretch
};

// Where the k-mers of a minimizer are counted.
struct place {
  int rank;
  size_t bin;  // of that rank
};
inline place place_of(uint32_t minimizer, int ranks, size_t bins) {
  const uint64_t bits = hash(uint64_t{minimizer});
  return {static_cast<int>(scale(bits, static_cast<uint64_t>(ranks))), scale(bits << 32, bins)};
}

// A super-k-mer in a message: the bin (2 bytes), the number of k-mers (1 byte), and the bases, four a
// byte, the first in the lowest bits. The two bits of bases beyond the last one are undefined.
struct record {
  static constexpr size_t header_bytes = 3;
  static constexpr size_t max_bins = size_t{1} << 16;
  static constexpr size_t bytes_of_bases(size_t kmers, int k) {
    return (kmers + static_cast<size_t>(k) + 2) / 4;
  }
  // A multiple of 8, plus the header: write() stores words.
  static constexpr size_t max_bytes =
      header_bytes + (((max_run_kmers + size_t{max_k<uint128_t>} + 2) / 4 + 7) & ~size_t{7});

  size_t bin;
  size_t kmers;
  const unsigned char* bases;
  size_t bytes;  // of the whole record

  // Writes a record to `to`, which has room for max_bytes, and returns its size.
  static size_t write(const super_kmer& run, int k, size_t bin, char* to) {
    const auto short_bin = static_cast<uint16_t>(bin);
    std::memcpy(to, &short_bin, sizeof(short_bin));
    to[2] = static_cast<char>(run.kmers);
    const size_t bytes = bytes_of_bases(run.kmers, k);
    const uint64_t* word = run.words + run.first / 32;
    const size_t shift = 2 * (run.first % 32);
    size_t left = run.kmers + static_cast<size_t>(k) - 1;  // bases
    for (size_t at = 0; at < bytes; at += sizeof(*word), ++word) {
      uint64_t part = *word >> shift;
      // The word after the last one may not be there.
      if (shift != 0 && left > 32 - shift / 2) part |= word[1] << (64 - shift);
      std::memcpy(to + header_bytes + at, &part, sizeof(part));
      left -= std::min<size_t>(left, 32);
    }
    return header_bytes + bytes;
  }

  // Reads the record at `from`. False if `size` bytes do not hold it.
  static bool read(const char* from, size_t size, int k, record* into) {
    if (size < header_bytes) return false;
    uint16_t bin;
    std::memcpy(&bin, from, sizeof(bin));
    const auto* bytes = reinterpret_cast<const unsigned char*>(from);
    into->bin = bin;
    into->kmers = bytes[2];
    into->bases = bytes + header_bytes;
    into->bytes = header_bytes + bytes_of_bases(into->kmers, k);
    return into->kmers != 0 && into->bytes <= size;
  }
};

}  // namespace kmer

#endif  // EXAMPLES_KMER_SUPER_KMER_H_
