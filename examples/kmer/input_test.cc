#include "examples/kmer/input.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "examples/kmer/locate.h"
#include "examples/kmer/test_data.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kmer {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int k = 31;

using counts_map = std::map<std::string, uint64_t>;

struct read_result {
  counts_map kmers;
  read_counts counts;
};

// All units of one rank, by one thread.
void read_share(input* from, read_result* result) {
  text_unit unit;
  for (;;) {
    const input::answer answer = from->next(&unit);
    if (answer == input::answer::end) return;
    ASSERT_EQ(answer, input::answer::unit);
    packed_reads reads(k);
    from->parse(unit, k, &reads, &result->counts);
    for (const std::string& kmer : kmers_of(reads, k)) ++result->kmers[kmer];
  }
}

read_result read_by_ranks(const std::vector<std::string>& paths, int ranks, size_t chunk) {
  read_result result;
  const std::vector<input_file> files = examine(paths);
  for (int rank = 0; rank < ranks; ++rank) {
    input share(files, rank, ranks, chunk);
    read_share(&share, &result);
    EXPECT_EQ(share.done_bytes(), share.total_bytes());
  }
  return result;
}

std::string error_of(const std::string& path, size_t chunk = 1 << 20) {
  try {
    read_by_ranks({path}, 1, chunk);
  } catch (const input_error& error) {
    return error.what();
  }
  return "no error";
}

TEST(input, all_formats_ranks_and_chunk_sizes_give_the_same_kmers) {
  const std::vector<std::string> reads = random_reads(200, 3000, 80, 4);
  const counts_map expected = count_simply(reads, k);
  const std::string as_fastq = fastq(reads);
  const std::string as_fasta = fasta(reads, 60);
  const size_t half = as_fastq.find("@read_100 ");
  const std::vector<std::string> paths = {
      write_file("a.fq", as_fastq),
      write_file("a.fa", as_fasta),
      write_file("a.fq.gz", gzipped(as_fastq)),
      write_file("a.fa.gz", gzipped(as_fasta)),
      write_file("members.gz", gzipped(as_fastq.substr(0, half)) + gzipped("") +
                                   gzipped(as_fastq.substr(half)) + std::string(512, '\0')),
      write_file("crlf.fq", fastq(reads, "\r\n")),
  };
  for (const std::string& path : paths) {
    for (int ranks : {1, 2, 4}) {
      for (size_t chunk : {64, 1000, 1 << 20}) {
        const read_result result = read_by_ranks({path}, ranks, chunk);
        ASSERT_EQ(result.kmers, expected) << path << ", " << ranks << " ranks, chunk " << chunk;
        EXPECT_EQ(result.counts.reads, reads.size());
      }
    }
  }
}

TEST(input, several_files_of_different_kinds_add_up) {
  const std::vector<std::string> first = random_reads(50, 1000, 80, 5);
  const std::vector<std::string> second = random_reads(50, 1000, 80, 6);
  counts_map expected = count_simply(first, k);
  for (const auto& [kmer, count] : count_simply(second, k)) expected[kmer] += count;
  const read_result result =
      read_by_ranks({write_file("1.fq.gz", gzipped(fastq(first))),
                     write_file("2.fa", fasta(second, 70)), write_file("3.fa", "")},
                    3, 500);
  EXPECT_EQ(result.kmers, expected);
}

// One long sequence, as a genome is, wrapped and on one line.
TEST(input, one_long_sequence_is_shared_too) {
  const std::vector<std::string> genome = {random_bases(60000, 7)};
  for (size_t width : {70, 1000000}) {
    const std::string path = write_file("genome.fa", fasta(genome, width));
    const std::vector<input_file> files = examine({path});
    counts_map kmers;
    for (int rank = 0; rank < 3; ++rank) {
      input share(files, rank, 3, 2000);
      read_result result;
      read_share(&share, &result);
      EXPECT_GT(result.counts.bases, 15000U);
      for (const auto& [kmer, count] : result.kmers) kmers[kmer] += count;
    }
    EXPECT_EQ(kmers, count_simply(genome, k));
  }
}

TEST(input, threads_share_streams_and_chunks) {
  const std::vector<std::string> reads = random_reads(400, 3000, 80, 8);
  counts_map expected = count_simply(reads, k);
  for (auto& [kmer, count] : expected) count *= 2;
  input share(
      examine({write_file("t.fq.gz", gzipped(fastq(reads))), write_file("t.fq", fastq(reads))}), 0,
      1, 700);
  counts_map kmers;
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      text_unit unit;
      for (input::answer answer; (answer = share.next(&unit)) != input::answer::end;) {
        if (answer == input::answer::busy) {
          std::this_thread::yield();
          continue;
        }
        packed_reads packed(k);
        read_counts counts;
        share.parse(unit, k, &packed, &counts);
        const std::lock_guard<std::mutex> lock(mutex);
        for (const std::string& kmer : kmers_of(packed, k)) ++kmers[kmer];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(kmers, expected);
}

TEST(input, names_what_it_cannot_open) {
  EXPECT_THAT(error_of("/nowhere/reads.fq"),
              HasSubstr("/nowhere/reads.fq: can't open: No such file or directory"));
  EXPECT_THAT(error_of("/dev/null"), HasSubstr("not a regular file"));
  EXPECT_THAT(error_of(write_file("bad.txt", "hello\n")), HasSubstr("neither FASTA nor FASTQ"));
  EXPECT_THAT(error_of(write_file("bad.gz", gzipped("hello\n"))),
              HasSubstr("neither FASTA nor FASTQ"));
}

TEST(input, empty_files_hold_no_reads) {
  EXPECT_EQ(error_of(write_file("empty.fq", "")), "no error");
  EXPECT_EQ(error_of(write_file("empty.fq.gz", gzipped(""))), "no error");
}

TEST(input, names_record_and_base_wherever_the_chunks_end) {
  std::vector<std::string> reads(100, std::string(70, 'A'));
  reads[60][14] = 'R';
  for (size_t chunk : {100, 1000, 1 << 20}) {
    EXPECT_THAT(
        error_of(write_file("r.fq", fastq(reads)), chunk),
        AllOf(HasSubstr("r.fq: record 61, line 242, base 15 (read_60): 'R' is not a base")));
    EXPECT_THAT(error_of(write_file("r.fq.gz", gzipped(fastq(reads))), chunk),
                HasSubstr("r.fq.gz: record 61, line 242, base 15 (read_60): 'R'"));
    EXPECT_THAT(error_of(write_file("r.fa", fasta(reads, 10)), chunk),
                HasSubstr("r.fa: record 61, line 483, base 15 (read_60): 'R'"));
    EXPECT_THAT(error_of(write_file("r.fa.gz", gzipped(fasta(reads, 10))), chunk),
                HasSubstr("r.fa.gz: record 61, line 483, base 15 (read_60): 'R'"));
  }
}

TEST(input, a_fastq_record_cut_short_is_an_error_at_every_length) {
  const std::string text = fastq({std::string(40, 'A'), std::string(40, 'C'), "ACGTACGT"});
  const size_t last = text.find("@read_2");
  for (size_t length = last + 1; length < text.size() - 1; ++length) {
    const std::string path = write_file("cut.fq", text.substr(0, length));
    for (size_t chunk : {16, 1 << 20}) {
      EXPECT_THAT(error_of(path, chunk), AllOf(HasSubstr("record 3"), HasSubstr("cut short")))
          << text.substr(last, length - last);
    }
  }
}

TEST(input, truncated_or_damaged_gzip_is_an_error_at_every_length) {
  const std::string bytes = gzipped(fastq(random_reads(20, 500, 50, 10)));
  for (size_t length = 2; length < bytes.size(); length += 7) {
    EXPECT_THAT(error_of(write_file("cut.gz", bytes.substr(0, length))), HasSubstr("truncated"))
        << length;
  }
  EXPECT_THAT(error_of(write_file("cut.gz", bytes.substr(0, bytes.size() - 1))),
              HasSubstr("truncated"));
  std::string damaged = bytes;
  damaged[damaged.size() - 6] = static_cast<char>(damaged[damaged.size() - 6] ^ 1);  // the CRC
  EXPECT_THAT(error_of(write_file("damaged.gz", damaged)), HasSubstr("damaged"));
  EXPECT_THAT(error_of(write_file("rubbish.gz", bytes + "rubbish")), HasSubstr("damaged"));
}

TEST(input, wrapped_fastq_is_refused) {
  EXPECT_THAT(error_of(write_file("wrapped.fq", "@a\nACGT\nACGT\n+\nIIIIIIII\n")),
              HasSubstr("a record has four lines"));
}

TEST(locate, describes_the_end_of_the_file) {
  const std::string path = write_file("l.fa", ">one two\nACGT\n");
  EXPECT_EQ(locate(path, text_format::fasta, 9), "record 1, line 2, base 1 (one)");
  EXPECT_EQ(locate(path, text_format::fasta, 1000), "record 1, line 2 (one)");
}

}  // namespace
}  // namespace kmer
