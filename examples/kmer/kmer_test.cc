#include "examples/kmer/kmer.h"

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace kmer {
namespace {

std::string reverse_complement(std::string text) {
  std::reverse(text.begin(), text.end());
  for (char& c : text) c = c == 'A' ? 'T' : c == 'C' ? 'G' : c == 'G' ? 'C' : 'A';
  return text;
}

std::string random_sequence(size_t length, unsigned seed) {
  std::mt19937 generator(seed);
  std::string text(length, 'A');
  for (char& c : text) c = "ACGT"[generator() % 4];
  return text;
}

unsigned code_of(char letter) { return static_cast<unsigned>(std::string("ACGT").find(letter)); }

template <class Word>
void expect_windows_equal_strings(int k) {
  const std::string text = random_sequence(300, static_cast<unsigned>(k));
  window<Word> rolling(k);
  for (size_t i = 0; i < text.size(); ++i) {
    rolling.push(code_of(text[i]));
    if (i + 1 < static_cast<size_t>(k)) continue;
    const std::string piece = text.substr(i + 1 - static_cast<size_t>(k), static_cast<size_t>(k));
    ASSERT_EQ(to_string(rolling.canonical(), k), std::min(piece, reverse_complement(piece)))
        << "k " << k << " at " << i;
  }
}

TEST(window, is_the_smaller_strand_for_every_k) {
  for (int k = 1; k <= max_k<uint64_t>; ++k) expect_windows_equal_strings<uint64_t>(k);
  for (int k = 1; k <= max_k<uint128_t>; ++k) expect_windows_equal_strings<uint128_t>(k);
}

TEST(window, forgets_what_lies_further_back_than_k) {
  window<uint128_t> fresh(51);
  window<uint128_t> used(51);
  for (char c : random_sequence(77, 1)) used.push(code_of(c));
  for (char c : random_sequence(51, 2)) {
    fresh.push(code_of(c));
    used.push(code_of(c));
  }
  EXPECT_TRUE(fresh.canonical() == used.canonical());
}

template <class Word>
void expect_load_equals_pushes(int k) {
  const std::string text = random_sequence(static_cast<size_t>(k) + 5, static_cast<unsigned>(k));
  window<Word> pushed(k);
  window<Word> loaded(k);
  Word packed = 0;
  for (size_t i = text.size(); i-- > 0;) packed = static_cast<Word>(packed << 2 | code_of(text[i]));
  loaded.load(packed);  // with bases above the k-th, as far as there is room
  for (size_t i = 0; i < static_cast<size_t>(k); ++i) pushed.push(code_of(text[i]));
  for (size_t i = static_cast<size_t>(k); i < text.size(); ++i) {
    ASSERT_TRUE(loaded.canonical() == pushed.canonical()) << "k " << k << " at " << i;
    pushed.push(code_of(text[i]));
    loaded.push(code_of(text[i]));
  }
}

TEST(window, loads_as_many_bases_as_it_has_at_a_time) {
  for (int k = 1; k <= max_k<uint64_t>; ++k) expect_load_equals_pushes<uint64_t>(k);
  for (int k = 1; k <= max_k<uint128_t>; ++k) expect_load_equals_pushes<uint128_t>(k);
}

TEST(hash, halves_of_a_wide_kmer_both_count) {
  std::set<uint64_t> seen;
  for (unsigned i = 0; i < 64; ++i) {
    seen.insert(hash(uint128_t{1} << i));
    seen.insert(hash(uint128_t{1} << (64 + i)));
  }
  EXPECT_EQ(seen.size(), 128U);
}

TEST(scale, covers_the_range_and_no_more) {
  EXPECT_EQ(scale(0, 10), 0U);
  EXPECT_EQ(scale(~uint64_t{0}, 10), 9U);
  EXPECT_EQ(scale(~uint64_t{0}, 1), 0U);
}

}  // namespace
}  // namespace kmer
