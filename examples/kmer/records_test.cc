#include "examples/kmer/records.h"

#include <string>
#include <vector>

#include "examples/kmer/test_data.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kmer {
namespace {

using ::testing::HasSubstr;

constexpr int k = 21;

uint64_t bases_in(const std::vector<std::string>& reads) {
  uint64_t bases = 0;
  for (const std::string& read : reads) bases += read.size();
  return bases;
}

TEST(fastq, gives_every_read) {
  const std::vector<std::string> sequences = random_reads(300, 2000, 60, 1);
  for (const char* line_end : {"\n", "\r\n"}) {
    packed_reads reads(k);
    read_counts counts;
    parse_fastq(fastq(sequences, line_end), &reads, &counts);
    EXPECT_EQ(counts_of(reads, k), count_simply(sequences, k));
    EXPECT_EQ(counts.reads, sequences.size());
    EXPECT_EQ(counts.bases, bases_in(sequences));
  }
}

TEST(fastq, takes_lower_case_blank_lines_and_a_missing_last_line_end) {
  packed_reads reads(3);
  read_counts counts;
  parse_fastq("@a\nacgt\n+a\n!!!!\n\n\n@b\nNaCg\n+\nIIII", &reads, &counts);
  EXPECT_EQ(counts.reads, 2U);
  EXPECT_EQ(counts.bases, 8U);
  EXPECT_EQ(reads.kmers(), 3U);
}

// A boundary can be asked for at any byte, and must be the first record at or after it.
TEST(fastq, finds_the_record_after_any_byte) {
  const std::string text = fastq(random_reads(40, 500, 20, 2));
  std::vector<size_t> begins;
  for (size_t at = text.find("@read_"); at != std::string::npos; at = text.find("@read_", at + 1)) {
    begins.push_back(at);
  }
  ASSERT_EQ(begins.size(), 40U);
  size_t next = 0;
  for (size_t from = 0; from < text.size(); ++from) {
    while (next < begins.size() && begins[next] < from) ++next;
    const size_t expected = next < begins.size() ? begins[next] : text.size();
    ASSERT_EQ(find_fastq_record(text, from, true), expected) << "from " << from;
  }
}

TEST(fastq, does_not_guess_when_the_text_is_too_short_to_tell) {
  const std::string text = "IIII\n@quality\n@header\nACGT\n+\nIIII\n";
  const size_t header = text.find("@header");
  for (size_t length = 1; length < text.size(); ++length) {
    const size_t found = find_fastq_record(text.substr(0, length), 1, false);
    EXPECT_EQ(found, length > text.find("\n+") + 1 ? header : std::string::npos) << length;
  }
}

TEST(fastq, complete_records_are_a_prefix_that_ends_with_a_line) {
  const std::string one = "@a\nAC\n+\nII\n";
  EXPECT_EQ(complete_fastq_records(one + "@b\nAC\n+\nI"), one);
  EXPECT_EQ(complete_fastq_records(one + "\n"), one + "\n");
  EXPECT_EQ(complete_fastq_records("@b\nAC\n+\n"), "");
  EXPECT_EQ(complete_fastq_records("@b\nAC\n"), "");
  EXPECT_EQ(complete_fastq_records("rubbish\n"), "rubbish\n");
}

struct invalid_text {
  const char* text;
  size_t offset;
  const char* message;
};

class invalid_fastq : public testing::TestWithParam<invalid_text> {};

TEST_P(invalid_fastq, is_refused_with_place_and_reason) {
  packed_reads reads(2);
  read_counts counts;
  try {
    parse_fastq(GetParam().text, &reads, &counts);
    FAIL() << "accepted " << GetParam().text;
  } catch (const text_error& error) {
    EXPECT_THAT(error.what(), HasSubstr(GetParam().message));
    EXPECT_EQ(error.offset(), GetParam().offset);
  }
}

INSTANTIATE_TEST_SUITE_P(
    all, invalid_fastq,
    testing::Values(
        invalid_text{"@a\nACRT\n+\nIIII\n", 5, "'R' is not a base"},
        invalid_text{"@a\nAC\x01T\n+\nIIII\n", 5, "byte 0x01 is not a base"},
        invalid_text{"@a\nACGT\n+\nIIII\nx\n", 15, "must begin with '@', not 'x'"},
        invalid_text{"@a\nACGT\nACGT\n+\nIIIIIIII\n", 8, "must begin with '+', not 'A'"},
        invalid_text{"@a", 0, "cut short: its sequence is missing"},
        invalid_text{"@a\nACGT", 0, "cut short: its '+' line is missing"},
        invalid_text{"@a\nACGT\n", 0, "cut short: its '+' line is missing"},
        invalid_text{"@a\nACGT\n+", 0, "cut short: its quality line is missing"},
        invalid_text{"@a\nACGT\n+\nII", 0, "cut short: it has 4 bases but 2 quality"},
        invalid_text{"@a\nACGT\n+\nII\n@b\nA\n+\nI\n", 0, "it has 4 bases but 2 quality"},
        invalid_text{"@a\nACGT\n+\nIIIII\n", 0, "it has 4 bases but 5 quality"}));

TEST(fasta, gives_every_sequence_however_it_is_cut) {
  const std::vector<std::string> sequences = random_reads(30, 3000, 150, 3);
  for (const char* line_end : {"\n", "\r\n"}) {
    for (size_t width : {7, 60, 1000}) {
      const std::string text = fasta(sequences, width, line_end);
      for (size_t piece : {1, 13, 100, 5000, 100000}) {
        packed_reads reads(k);
        read_counts counts;
        for (size_t begin = 0; begin < text.size(); begin += piece) {
          parse_fasta(absl::string_view(text).substr(0, begin + piece), begin, k, &reads, &counts);
        }
        ASSERT_EQ(counts_of(reads, k), count_simply(sequences, k)) << width << " " << piece;
        EXPECT_EQ(counts.reads, sequences.size());
        EXPECT_EQ(counts.bases, bases_in(sequences));
      }
    }
  }
}

TEST(fasta, refuses_what_is_not_a_base_in_the_piece_that_holds_it) {
  const std::string text = ">a\nACGT>TT\n";
  packed_reads reads(2);
  read_counts counts;
  EXPECT_THROW(parse_fasta(text, 0, 2, &reads, &counts), text_error);
  EXPECT_THROW(parse_fasta(text, 7, 2, &reads, &counts), text_error);
  EXPECT_NO_THROW(parse_fasta(text, 8, 2, &reads, &counts));
}

TEST(fasta, limits_headers) {
  packed_reads reads(2);
  read_counts counts;
  const std::string good = ">" + std::string(max_header_bytes - 1, 'A') + "\nACGT\n";
  EXPECT_NO_THROW(parse_fasta(good, 0, 2, &reads, &counts));
  const std::string fasta = ">" + std::string(max_header_bytes, 'A') + "\nACGT\n";
  EXPECT_THROW(parse_fasta(fasta, 0, 2, &reads, &counts), text_error);
  // Also when it began in an earlier piece.
  EXPECT_THROW(parse_fasta(fasta, 1000, 2, &reads, &counts), text_error);
}

}  // namespace
}  // namespace kmer
