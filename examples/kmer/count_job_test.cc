#include "examples/kmer/count_job.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include "examples/kmer/memory_exchange.h"
#include "examples/kmer/output.h"
#include "examples/kmer/progress_bar.h"
#include "examples/kmer/test_data.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kmer {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

using counts_map = std::map<std::string, uint64_t>;

std::string contents(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string histogram_of(const counts_map& counts, uint64_t high) {
  std::map<uint64_t, uint64_t> bins;
  for (const auto& [kmer, count] : counts) ++bins[std::min(count, high + 1)];
  std::string text;
  for (const auto& [count, kmers] : bins) {
    text += std::to_string(count) + " " + std::to_string(kmers) + "\n";
  }
  return text;
}

counts_map table_in(const std::string& path) {
  counts_map table;
  std::ifstream file(path);
  std::string kmer;
  for (uint64_t count = 0; file >> kmer >> count;) {
    EXPECT_TRUE(table.emplace(kmer, count).second) << kmer << " is there twice";
  }
  return table;
}

// Outcomes by rank.
std::vector<outcome> run_job(const options& chosen, int ranks) {
  memory_network network(ranks, 11);
  std::vector<outcome> outcomes(static_cast<size_t>(ranks));
  network.run([&](exchange* mine) {
    outcomes[static_cast<size_t>(mine->rank())] = count_kmers(chosen, mine);
  });
  return outcomes;
}

options base_options(const std::string& name, const std::vector<std::string>& files) {
  options chosen;
  chosen.files = files;
  chosen.histogram = write_file(name + ".histo", "");
  chosen.table = write_file(name + ".table", "");
  chosen.progress = when::never;
  return chosen;
}

struct job_case {
  int ranks;
  int threads;
  int k;
  size_t buffer_bytes;
  uint64_t min_count;
};

class all_jobs : public testing::TestWithParam<job_case> {};

TEST_P(all_jobs, count_exactly) {
  const job_case& param = GetParam();
  const std::vector<std::string> reads = random_reads(1500, 4000, 100, 12);
  const size_t third = reads.size() / 3;
  const std::vector<std::string> first(reads.begin(), reads.begin() + static_cast<long>(third));
  const std::vector<std::string> second(reads.begin() + static_cast<long>(third), reads.end());
  options chosen = base_options(
      "job", {write_file("1.fq", fastq(first)), write_file("2.fa.gz", gzipped(fasta(second, 60)))});
  chosen.k = param.k;
  chosen.threads = param.threads;
  chosen.buffer_bytes = param.buffer_bytes;
  chosen.min_count = param.min_count;
  chosen.histogram_high = 5;

  const std::vector<outcome> outcomes = run_job(chosen, param.ranks);
  for (const outcome& one : outcomes) ASSERT_TRUE(one.good) << one.text;

  counts_map expected = count_simply(reads, static_cast<size_t>(param.k));
  EXPECT_EQ(contents(chosen.histogram), histogram_of(expected, 5));
  const uint64_t different = expected.size();
  const auto once = std::count_if(expected.begin(), expected.end(),
                                  [](const auto& one) { return one.second == 1; });
  for (auto it = expected.begin(); it != expected.end();) {
    it = it->second < param.min_count ? expected.erase(it) : std::next(it);
  }
  EXPECT_EQ(table_in(chosen.table), expected);
  EXPECT_THAT(outcomes[0].text, HasSubstr("1500 reads, "));
  EXPECT_THAT(outcomes[0].text, HasSubstr(": " + std::to_string(different) + " different, " +
                                          std::to_string(once) + " of them once"));
}

INSTANTIATE_TEST_SUITE_P(count_job, all_jobs,
                         testing::Values(job_case{1, 1, 51, 8192, 2}, job_case{1, 4, 51, 8192, 1},
                                         job_case{2, 1, 51, 128, 3}, job_case{3, 2, 51, 1000, 3},
                                         job_case{4, 4, 51, 1000, 3}, job_case{2, 2, 1, 1000, 3},
                                         job_case{2, 2, 11, 1000, 1}, job_case{2, 2, 12, 1000, 1},
                                         job_case{2, 2, 32, 1000, 3}, job_case{2, 2, 33, 1000, 3},
                                         job_case{2, 2, 64, 1000, 3}));

TEST(count_job, bad_input_is_an_error_on_all_ranks) {
  std::vector<std::string> reads(3000, std::string(100, 'A'));
  reads[2999][50] = 'R';
  const options chosen = base_options("bad", {write_file("bad.fq", fastq(reads))});
  const std::vector<outcome> outcomes = run_job(chosen, 4);
  for (const outcome& one : outcomes) {
    EXPECT_FALSE(one.good);
    EXPECT_THAT(one.text, EndsWith("bad.fq: record 3000, line 11998, base 51 (read_2999): 'R' is "
                                   "not a base: only A, C, G, T and N are allowed"));
  }
}

TEST(count_job, a_missing_file_is_an_error_on_all_ranks) {
  const options chosen =
      base_options("missing", {write_file("there.fq", fastq({"ACGT"})), "/nowhere/reads.fq"});
  for (const outcome& one : run_job(chosen, 3)) {
    EXPECT_FALSE(one.good);
    EXPECT_EQ(one.text, "/nowhere/reads.fq: can't open: No such file or directory");
  }
}

TEST(count_job, results_that_cannot_be_written_are_an_error_on_all_ranks) {
  options chosen = base_options("full", {write_file("there.fq", fastq({std::string(60, 'A')}))});
  chosen.histogram = "/nowhere/histogram";
  for (const outcome& one : run_job(chosen, 2)) {
    EXPECT_THAT(one.text, HasSubstr("/nowhere/histogram: can't be opened for writing: No such"));
  }
  chosen.histogram = "/dev/full";
  for (const outcome& one : run_job(chosen, 2)) {
    EXPECT_THAT(one.text, HasSubstr("/dev/full: can't be written: No space left on device"));
  }
}

TEST(count_job, no_reads_give_empty_results) {
  const options chosen = base_options("none", {write_file("none.fq", "")});
  const std::vector<outcome> outcomes = run_job(chosen, 2);
  EXPECT_TRUE(outcomes[0].good);
  EXPECT_THAT(outcomes[0].text, HasSubstr("0 reads, 0 bases, 0 k-mers of 51 bases: 0 different"));
  EXPECT_EQ(contents(chosen.histogram), "");
  EXPECT_EQ(contents(chosen.table), "");
}

TEST(histogram, lumps_large_counts_together) {
  histogram counts(10);
  counts.add(2, 5);
  counts.add(10);
  counts.add(11);
  counts.add(1000);
  EXPECT_EQ(counts.text(), "2 5\n10 1\n11 2\n");
}

TEST(histogram, takes_the_kmers_of_another) {
  histogram counts(10);
  counts.add(2, 5);
  histogram more(10);
  more.add(2);
  more.add(11);
  counts.add(more);
  EXPECT_EQ(counts.text(), "2 6\n11 1\n");
}

TEST(progress_bar, line_shows_the_part) {
  EXPECT_EQ(progress_bar::line("count", 1, 2),
            "count    [====================                    ]  50 %");
  EXPECT_THAT(progress_bar::line("count", 3, 2), EndsWith("=] 100 %"));
  EXPECT_THAT(progress_bar::line("count", 0, 0), EndsWith("=] 100 %"));
}

}  // namespace
}  // namespace kmer
