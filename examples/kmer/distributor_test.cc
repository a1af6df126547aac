#include "examples/kmer/distributor.h"

#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "examples/kmer/bin_counter.h"
#include "examples/kmer/memory_exchange.h"
#include "examples/kmer/packed_reads.h"
#include "examples/kmer/test_data.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kmer {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int k = 31;

struct shape {
  int ranks;
  int threads;
};

class all_shapes : public testing::TestWithParam<shape> {};

// Every thread of every rank sends the same reads. No k-mer is at two ranks.
TEST_P(all_shapes, bring_all_occurrences_of_a_kmer_to_one_rank) {
  const auto [ranks, threads] = GetParam();
  const std::vector<std::string> reads = random_reads(100, 2000, 80, 4);
  packed_reads packed(k);
  append(reads, &packed);
  memory_network network(ranks, 7);
  std::mutex mutex;
  std::map<std::string, uint64_t> counts;
  network.run([&, threads = threads](exchange* mine) {
    kmer_bins bins(k, 3);
    phases job(mine, threads, {[&](const message& incoming) { unpack(incoming, &bins); }});
    EXPECT_TRUE(job.run(
        [&](int thread) {
          distributor to(&job, thread, k, 200, &bins);  // some records a message
          super_kmer_finder finder(k);
          packed.for_each_stretch([&](const uint64_t* words, size_t length) {
            finder.for_each(words, length, [&](const super_kmer& run) { to.push(run); });
          });
          to.flush_all();
        },
        [] {}));
    bin_counter<uint64_t> counter;
    const std::lock_guard<std::mutex> lock(mutex);
    for (size_t bin = 0; bin < bins.size(); ++bin) {
      counter.count(bins, bin, [&](uint64_t word, uint64_t count) {
        EXPECT_TRUE(counts.emplace(to_string(word, k), count).second) << "at two ranks";
      });
    }
  });
  std::map<std::string, uint64_t> expected = count_simply(reads, k);
  for (auto& [kmer, count] : expected) count *= static_cast<uint64_t>(ranks * threads);
  EXPECT_EQ(counts, expected);
}

INSTANTIATE_TEST_SUITE_P(distributor, all_shapes,
                         testing::Values(shape{1, 1}, shape{1, 4}, shape{2, 2}, shape{3, 1},
                                         shape{4, 4}));

TEST(distributor, a_message_that_is_no_super_kmers_is_refused) {
  message odd;
  odd.rank = 3;
  odd.size = 2;
  odd.bytes.reset(static_cast<char*>(std::malloc(odd.size)));
  std::memset(odd.bytes.get(), 0, odd.size);
  kmer_bins bins(k, 1);
  try {
    unpack(odd, &bins);
    FAIL() << "accepted";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("of 2 bytes"), HasSubstr("from rank 3")));
  }
}

}  // namespace
}  // namespace kmer
