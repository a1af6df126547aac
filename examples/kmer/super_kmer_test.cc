#include "examples/kmer/super_kmer.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "examples/kmer/packed_reads.h"
#include "examples/kmer/test_data.h"
#include "gtest/gtest.h"

namespace kmer {
namespace {

constexpr int lengths[] = {1, 2, 10, 11, 12, 21, 31, 32, 33, 51, 63, 64};

struct found_run {
  size_t first;
  size_t kmers;
  uint32_t minimizer;
};

std::vector<found_run> runs_of(const std::string& bases, int k) {
  packed_reads reads(k);
  append({bases}, &reads);
  super_kmer_finder finder(k);
  std::vector<found_run> runs;
  reads.for_each_stretch([&](const uint64_t* words, size_t length) {
    finder.for_each(words, length, [&](const super_kmer& run) {
      EXPECT_EQ(run.words, words);
      runs.push_back({run.first, run.kmers, run.minimizer});
    });
  });
  return runs;
}

uint32_t minimizer_of(const std::string& kmer) {
  const std::vector<found_run> runs = runs_of(kmer, static_cast<int>(kmer.size()));
  EXPECT_EQ(runs.size(), 1U);
  return runs[0].minimizer;
}

TEST(super_kmer_finder, finds_every_kmer_with_the_minimizer_that_it_has_alone_and_reversed) {
  for (int k : lengths) {
    const auto width = static_cast<size_t>(k);
    const std::string bases = random_bases(400, static_cast<unsigned>(k));
    size_t next = 0;
    for (const found_run& run : runs_of(bases, k)) {
      ASSERT_EQ(run.first, next);
      ASSERT_GE(run.kmers, 1U);
      for (size_t i = 0; i < run.kmers; ++i, ++next) {
        const std::string one = bases.substr(next, width);
        ASSERT_EQ(minimizer_of(one), run.minimizer) << k << " " << next;
        ASSERT_EQ(minimizer_of(reverse_complement(one)), run.minimizer) << k << " " << next;
      }
    }
    EXPECT_EQ(next, bases.size() - width + 1);
  }
}

TEST(super_kmer_finder, has_one_run_as_long_as_the_minimizer_stays) {
  for (int k : {31, 51}) {
    const std::vector<found_run> runs = runs_of(random_bases(20000, 5), k);
    for (size_t i = 1; i < runs.size(); ++i) {
      EXPECT_NE(runs[i].minimizer, runs[i - 1].minimizer);
    }
    // Half of the k-mers of a window of m-mers, on average.
    EXPECT_LT(runs.size(), 20000U / (static_cast<unsigned>(k - minimizer_length(k)) / 2));
  }
}

TEST(super_kmer_finder, ends_a_run_whose_number_of_kmers_fills_a_byte) {
  const std::vector<found_run> runs = runs_of(std::string(600, 'A'), 51);
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(runs[0].kmers, 255U);
  EXPECT_EQ(runs[1].first, 255U);
  EXPECT_EQ(runs[1].kmers, 255U);
  EXPECT_EQ(runs[2].kmers, 40U);
}

TEST(super_kmer_finder, can_be_used_for_stretches_of_different_lengths) {
  packed_reads reads(31);
  append({random_bases(500, 1), random_bases(31, 2), random_bases(40, 3)}, &reads);
  super_kmer_finder finder(31);
  std::vector<size_t> kmers;
  reads.for_each_stretch([&](const uint64_t* words, size_t length) {
    size_t of_stretch = 0;
    finder.for_each(words, length, [&](const super_kmer& run) { of_stretch += run.kmers; });
    kmers.push_back(of_stretch);
  });
  EXPECT_EQ(kmers, (std::vector<size_t>{470, 1, 10}));
}

std::string bases_of(const record& one, int k) {
  std::string letters;
  for (size_t i = 0; i < one.kmers + static_cast<size_t>(k) - 1; ++i) {
    letters += "ACGT"[one.bases[i / 4] >> (2 * (i % 4)) & 3];
  }
  return letters;
}

// The words end with the stretch, and the text has room for one record: a sanitizer sees both ends.
TEST(record, has_the_bases_of_its_run_wherever_it_lies) {
  for (int k : lengths) {
    for (size_t first : {0, 1, 31, 32, 33, 63, 100}) {
      for (size_t kmers : {1, 2, 3, 4, 32, 200, 255}) {
        const std::string bases = random_bases(first + kmers + static_cast<size_t>(k) - 1, 7);
        packed_reads reads(k);
        append({bases}, &reads);
        reads.for_each_stretch([&](const uint64_t* words, size_t length) {
          const std::vector<uint64_t> exact(words, words + (length + 31) / 32);
          const auto text = std::make_unique<char[]>(record::max_bytes);
          const size_t bytes = record::write({exact.data(), first, kmers, 0}, k, 65535, text.get());
          ASSERT_LE(bytes, record::max_bytes);
          record read;
          ASSERT_TRUE(record::read(text.get(), bytes, k, &read));
          EXPECT_EQ(read.bytes, bytes);
          EXPECT_EQ(read.bin, 65535U);
          EXPECT_EQ(read.kmers, kmers);
          EXPECT_EQ(bases_of(read, k), bases.substr(first));
          for (size_t less = 0; less < bytes; ++less) {
            ASSERT_FALSE(record::read(text.get(), less, k, &read));
          }
        });
      }
    }
  }
}

TEST(record, without_a_kmer_is_none) {
  const char text[record::max_bytes] = {};
  record read;
  EXPECT_FALSE(record::read(text, sizeof(text), 51, &read));
}

TEST(place_of, spreads_minimizers_evenly_over_ranks_and_their_bins) {
  constexpr int ranks = 7;
  constexpr size_t bins = 5;
  constexpr uint32_t even = 10000;
  constexpr uint32_t count = even * ranks * bins;
  std::vector<uint32_t> load(ranks * bins);
  for (uint32_t i = 0; i < count; ++i) {
    const place one = place_of(i, ranks, bins);
    ++load.at(static_cast<size_t>(one.rank) * bins + one.bin);
  }
  for (uint32_t one : load) EXPECT_NEAR(one, even, even / 20);
}

}  // namespace
}  // namespace kmer
