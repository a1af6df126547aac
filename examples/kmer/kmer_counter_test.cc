#include "examples/kmer/kmer_counter.h"

#include <map>
#include <string>
#include <thread>
#include <vector>

#include "examples/kmer/packed_reads.h"
#include "examples/kmer/test_data.h"
#include "gtest/gtest.h"

namespace kmer {
namespace {

using counts_map = std::map<std::string, uint64_t>;

template <class Word>
std::vector<Word> words_of(const std::vector<std::string>& reads, int k) {
  packed_reads packed(k);
  for (const std::string& read : reads) {
    for (char base : read) {
      if (base == 'N') {
        packed.cut();
      } else {
        packed.push(static_cast<unsigned>(std::string("ACGT").find(base)));
      }
    }
    packed.cut();
  }
  std::vector<Word> words;
  packed.for_each_kmer<Word>([&](Word word) { words.push_back(word); });
  return words;
}

counts_map at_least_two(counts_map counts) {
  for (auto it = counts.begin(); it != counts.end();) {
    it = it->second < 2 ? counts.erase(it) : std::next(it);
  }
  return counts;
}

template <class Word>
counts_map count_by(int threads, const std::vector<Word>& words, int k, size_t bloom_bytes) {
  kmer_counter<Word> counter(bloom_bytes);
  const auto in_parallel = [&](auto&& work) {
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t) {
      all.emplace_back([&, t] {
        // Small batches, dealt in turn: neighboring occurrences meet in different threads.
        const size_t batch = 37;
        const size_t step = batch * static_cast<size_t>(threads);
        for (size_t at = batch * static_cast<size_t>(t); at < words.size(); at += step) {
          work(words.data() + at, std::min(batch, words.size() - at));
        }
      });
    }
    for (std::thread& thread : all) thread.join();
  };
  in_parallel([&](const Word* at, size_t n) { counter.add(at, n); });
  counter.begin_counting();
  in_parallel([&](const Word* at, size_t n) { counter.count(at, n); });
  counts_map counts;
  counter.for_each([&](Word word, uint64_t count) { counts[to_string(word, k)] = count; });
  return counts;
}

TEST(kmer_counter, counts_exactly_with_any_size_of_filter) {
  const std::vector<std::string> reads = random_reads(2000, 4000, 60, 11);
  for (size_t bloom_bytes : {1, 100, 10000, 4 << 20}) {
    EXPECT_EQ(count_by(1, words_of<uint64_t>(reads, 21), 21, bloom_bytes),
              at_least_two(count_simply(reads, 21)));
    EXPECT_EQ(count_by(1, words_of<uint128_t>(reads, 51), 51, bloom_bytes),
              at_least_two(count_simply(reads, 51)));
  }
}

// Every k-mer occurs exactly twice, and the two meet in different threads at nearly the same time.
TEST(kmer_counter, no_second_occurrence_is_lost_between_threads) {
  std::vector<uint64_t> words;
  for (uint64_t word = 0; word < 40000; ++word) words.insert(words.end(), 2, word);
  // Neighbors 37 apart are in different threads' batches.
  std::vector<uint64_t> shuffled(words.size());
  for (size_t i = 0; i < words.size() / 74; ++i) {
    for (size_t j = 0; j < 37; ++j) {
      shuffled[74 * i + j] = words[74 * i + 2 * j];
      shuffled[74 * i + 37 + j] = words[74 * i + 2 * j];
    }
  }
  shuffled.resize(words.size() / 74 * 74);
  for (int threads : {2, 4}) {
    const counts_map counts = count_by(threads, shuffled, 16, 8192);
    ASSERT_EQ(counts.size(), shuffled.size() / 2);
    for (const auto& [kmer, count] : counts) ASSERT_EQ(count, 2U) << kmer;
  }
}

TEST(bloom_filter, second_layer_holds_few_that_were_added_once) {
  bloom_filter filter(1 << 20);
  uint64_t admitted = 0;
  for (uint64_t word = 0; word < 100000; ++word) admitted += filter.add(hash(word));
  EXPECT_LT(admitted, 1000U);
  EXPECT_EQ(filter.bytes(), size_t{1} << 20);
}

TEST(kmer_table, grows_beyond_what_was_expected_while_threads_add) {
  constexpr uint64_t kmers = 600000;
  for (int round = 0; round < 2; ++round) {
    kmer_table<uint128_t> table(0);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (uint64_t i = 0; i < kmers; ++i) table.add(uint128_t{i} << 60);
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(table.size(), kmers);
    table.for_each(
        [&](uint128_t word, uint64_t count) { ASSERT_EQ(count, 4U) << to_string(word, 64); });
  }
}

TEST(huge_pages, memory_is_zero_and_can_be_freed) {
  for (size_t bytes :
       {size_t{0}, size_t{1}, size_t{5000}, size_t{2} << 20, (size_t{5} << 20) + 1}) {
    auto* memory = static_cast<unsigned char*>(huge_allocate(bytes));
    for (size_t i = 0; i < bytes; i += 1000) ASSERT_EQ(memory[i], 0);
    if (bytes > 0) memory[bytes - 1] = 1;
    huge_free(memory, bytes);
  }
  EXPECT_THROW(huge_allocate(~size_t{0} - 5), std::bad_alloc);
}

}  // namespace
}  // namespace kmer
