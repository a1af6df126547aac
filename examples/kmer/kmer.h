// K-mers as numbers: two bits a base (A 0, C 1, G 2, T 3), the first base in the highest bits.
//
// A k-mer and its reverse complement are the same piece of DNA read from the two strands; the
// smaller of the two numbers, which is also the first of the two in the alphabet, stands for both
// and is called canonical.
#ifndef EXAMPLES_KMER_KMER_H_
#define EXAMPLES_KMER_KMER_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace kmer {

__extension__ typedef unsigned __int128 uint128_t;

// Bases that fit: 32 in a uint64_t, 64 in a uint128_t.
template <class Word>
constexpr int max_k = static_cast<int>(sizeof(Word)) * 4;

// The bases of a word in reverse order.
inline uint64_t reverse_bases(uint64_t word) {
  word = __builtin_bswap64(word);
  word = (word >> 4 & 0x0f0f0f0f0f0f0f0f) | (word & 0x0f0f0f0f0f0f0f0f) << 4;
  return (word >> 2 & 0x3333333333333333) | (word & 0x3333333333333333) << 2;
}
inline uint128_t reverse_bases(uint128_t word) {
  return uint128_t{reverse_bases(static_cast<uint64_t>(word))} << 64 |
         reverse_bases(static_cast<uint64_t>(word >> 64));
}

// Slides over a sequence, one base at a time, and knows the k-mer that ends at the last base.
// Bases that were pushed more than k bases ago have no influence, so a window needs no reset: it is
// valid again after k pushes.
template <class Word>
class window {
 public:
  // 1 <= k <= max_k<Word>.
  explicit window(int k)
      : mask_(static_cast<Word>(~Word{0}) >> (2 * (max_k<Word> - k))), top_(2 * (k - 1)) {}

  // Pushes k bases: base i stands in bits 2 * i of `packed`. The bits above them are ignored.
  void load(Word packed) {
    forward_ = reverse_bases(packed) >> (2 * (max_k<Word> - 1) - top_);
    reverse_ = ~packed & mask_;
  }

  void push(unsigned code) {
    forward_ = ((forward_ << 2) | code) & mask_;
    reverse_ = (reverse_ >> 2) | (Word{3 - code} << top_);
  }
  Word canonical() const { return forward_ < reverse_ ? forward_ : reverse_; }

 private:
  Word mask_;
  int top_;  // position of the first base
  Word forward_ = 0;
  Word reverse_ = 0;
};

// 64 well mixed bits by multiplication to 128 bits and folding, the idea of wyhash.
inline uint64_t fold_multiply(uint64_t a, uint64_t b) {
  const uint128_t product = static_cast<uint128_t>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}
inline uint64_t hash(uint128_t word) {
  const uint64_t low = static_cast<uint64_t>(word) ^ 0x9e3779b97f4a7c15;
  const uint64_t high = static_cast<uint64_t>(word >> 64) ^ 0xd1b54a32d192ed03;
  return fold_multiply(fold_multiply(low, high) ^ 0x8cb92ba72f3d8dd7, 0xaef17502108ef2d9);
}
inline uint64_t hash(uint64_t word) { return hash(uint128_t{word}); }

// floor(hash * n / 2^64): a number below n.
inline uint64_t scale(uint64_t hash, uint64_t n) {
  return static_cast<uint64_t>((static_cast<uint128_t>(hash) * n) >> 64);
}

// The k letters of a k-mer.
template <class Word>
std::string to_string(Word word, int k) {
  std::string letters(static_cast<size_t>(k), 'A');
  for (size_t i = letters.size(); i-- > 0; word >>= 2) {
    letters[i] = "ACGT"[static_cast<unsigned>(word & 3)];
  }
  return letters;
}

}  // namespace kmer

#endif  // EXAMPLES_KMER_KMER_H_
