#include "examples/kmer/kmer_bins.h"

#include <map>
#include <string>
#include <thread>
#include <vector>

#include "examples/kmer/bin_counter.h"
#include "examples/kmer/packed_reads.h"
#include "examples/kmer/super_kmer.h"
#include "examples/kmer/test_data.h"
#include "gtest/gtest.h"

namespace kmer {
namespace {

using counts_map = std::map<std::string, uint64_t>;

// The records of all super-k-mers of the reads.
std::string records_of(const std::vector<std::string>& reads, int k, size_t bins) {
  packed_reads packed(k);
  append(reads, &packed);
  super_kmer_finder finder(k);
  std::string records;
  packed.for_each_stretch([&](const uint64_t* words, size_t length) {
    finder.for_each(words, length, [&](const super_kmer& run) {
      const size_t old = records.size();
      records.resize(old + record::max_bytes);
      const size_t bin = place_of(run.minimizer, 1, bins).bin;
      records.resize(old + record::write(run, k, bin, &records[old]));
    });
  });
  return records;
}

template <class Word>
counts_map count_all(const kmer_bins& bins, int k) {
  counts_map counts;
  bin_counter<Word> counter;
  for (size_t bin = 0; bin < bins.size(); ++bin) {
    counter.count(bins, bin, [&](Word word, uint64_t count) {
      EXPECT_TRUE(counts.emplace(to_string(word, k), count).second) << "in two bins";
    });
  }
  return counts;
}

struct bins_case {
  int k;
  size_t bins;
  int threads;
};

class all_bins : public testing::TestWithParam<bins_case> {};

TEST_P(all_bins, count_exactly) {
  const auto [k, size, threads] = GetParam();
  const std::vector<std::string> reads = random_reads(2000, 5000, 100, 3);
  kmer_bins bins(k, size);
  std::vector<std::thread> all;
  const size_t share = reads.size() / static_cast<size_t>(threads);
  for (int t = 0; t < threads; ++t) {
    const auto begin = reads.begin() + static_cast<long>(share) * t;
    all.emplace_back(
        [&bins, k = k, part = std::vector<std::string>(begin, begin + static_cast<long>(share))] {
          // In two messages, so that each bin has something of both.
          const std::string records = records_of(part, k, bins.size());
          const std::string more = records_of({part[0]}, k, bins.size());
          EXPECT_TRUE(bins.add(records.data(), records.size()));
          EXPECT_TRUE(bins.add(more.data(), more.size()));
        });
  }
  for (std::thread& thread : all) thread.join();

  counts_map expected = count_simply(reads, static_cast<size_t>(k));
  for (int t = 0; t < threads; ++t) {
    const std::string& twice = reads[share * static_cast<size_t>(t)];
    for (const auto& [kmer, count] : count_simply({twice}, static_cast<size_t>(k))) {
      expected[kmer] += count;
    }
  }
  if (k <= max_k<uint64_t>) {
    EXPECT_EQ(count_all<uint64_t>(bins, k), expected);
  }
  EXPECT_EQ(count_all<uint128_t>(bins, k), expected);
}

INSTANTIATE_TEST_SUITE_P(kmer_bins, all_bins,
                         testing::Values(bins_case{51, 1, 1}, bins_case{51, 1, 4},
                                         bins_case{51, 100, 4}, bins_case{1, 3, 2},
                                         bins_case{11, 10, 2}, bins_case{32, 10, 2},
                                         bins_case{33, 10, 2}, bins_case{64, 10, 2}));

TEST(kmer_bins, without_records_have_no_kmers) {
  kmer_bins bins(31, 2);
  EXPECT_TRUE(bins.add(nullptr, 0));
  EXPECT_TRUE(count_all<uint64_t>(bins, 31).empty());
}

TEST(kmer_bins, cleared_ones_are_empty) {
  kmer_bins bins(31, 1);
  const std::string records = records_of({random_bases(100, 1)}, 31, 1);
  EXPECT_TRUE(bins.add(records.data(), records.size()));
  EXPECT_EQ(count_all<uint64_t>(bins, 31).size(), 70U);
  bins.clear(0);
  EXPECT_TRUE(count_all<uint64_t>(bins, 31).empty());
}

TEST(kmer_bins, refuse_what_is_not_whole_records_of_theirs) {
  const std::string bases = random_bases(31, 1);
  const std::string good = records_of({bases}, 31, 1);
  kmer_bins bins(31, 1);
  const std::string cut = good + good.substr(0, good.size() - 1);
  EXPECT_FALSE(bins.add(cut.data(), cut.size()));
  std::string other_bin = good;
  other_bin[0] = 1;
  EXPECT_FALSE(bins.add(other_bin.data(), other_bin.size()));
  // The one before the one that was cut.
  EXPECT_EQ(count_all<uint64_t>(bins, 31), count_simply({bases}, 31));
}

}  // namespace
}  // namespace kmer
