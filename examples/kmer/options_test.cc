#include "examples/kmer/options.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kmer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

options parse(std::vector<std::string> words, bool* help = nullptr) {
  words.insert(words.begin(), "kmer");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(&word[0]);
  argv.push_back(nullptr);
  bool unused = false;
  return parse_options(static_cast<int>(words.size()), argv.data(), help ? help : &unused);
}

std::string error_of(const std::vector<std::string>& words) {
  try {
    parse(words);
  } catch (const usage_error& error) {
    return error.what();
  }
  return "no error";
}

TEST(options, defaults) {
  const options chosen = parse({"count", "reads.fq"});
  EXPECT_EQ(chosen.k, 51);
  EXPECT_EQ(chosen.threads, 1);
  EXPECT_EQ(chosen.buffer_bytes, 8192U);
  EXPECT_EQ(chosen.histogram, "");
  EXPECT_EQ(chosen.histogram_high, 10000U);
  EXPECT_EQ(chosen.table, "");
  EXPECT_EQ(chosen.min_count, 2U);
  EXPECT_EQ(chosen.progress, when::automatic);
  EXPECT_THAT(chosen.files, ElementsAre("reads.fq"));
}

TEST(options, everything_can_be_chosen_and_files_may_come_first) {
  const options chosen = parse({"count", "a.fq", "--k", "64", "--threads=4", "--buffer-size", "4K",
                                "--histogram", "h", "--histogram-high", "7", "--table", "t",
                                "--min-count", "3", "--progress", "never", "--", "--b.fq"});
  EXPECT_EQ(chosen.k, 64);
  EXPECT_EQ(chosen.threads, 4);
  EXPECT_EQ(chosen.buffer_bytes, 4096U);
  EXPECT_EQ(chosen.histogram, "h");
  EXPECT_EQ(chosen.histogram_high, 7U);
  EXPECT_EQ(chosen.table, "t");
  EXPECT_EQ(chosen.min_count, 3U);
  EXPECT_EQ(chosen.progress, when::never);
  EXPECT_THAT(chosen.files, ElementsAre("a.fq", "--b.fq"));
}

TEST(options, short_forms) {
  const options chosen = parse({"count", "-k31", "-t", "2", "a.fq"});
  EXPECT_EQ(chosen.k, 31);
  EXPECT_EQ(chosen.threads, 2);
}

TEST(options, help_is_found_in_both_places) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--help"}, {"count", "--help"}, {"count", "a.fq", "-h"}}) {
    bool help = false;
    parse(words, &help);
    EXPECT_TRUE(help);
  }
  EXPECT_THAT(help_text(), HasSubstr("usage: "));
}

TEST(options, what_is_wrong_is_named) {
  EXPECT_THAT(error_of({}), HasSubstr("kmer count FILE"));
  EXPECT_THAT(error_of({"cuont", "a.fq"}), HasSubstr("unknown command 'cuont'"));
  EXPECT_THAT(error_of({"count"}), HasSubstr("no input file"));
  EXPECT_THAT(error_of({"count", "--kmer", "3", "a.fq"}), HasSubstr("unknown option --kmer"));
  EXPECT_THAT(error_of({"count", "a.fq", "--threads"}),
              HasSubstr("--threads: its value is missing"));
  EXPECT_THAT(error_of({"count", "--k", "65", "a.fq"}),
              HasSubstr("--k 65: must be a number from 1 to 64"));
  EXPECT_THAT(error_of({"count", "--threads", "0", "a.fq"}), HasSubstr("--threads 0"));
  EXPECT_THAT(error_of({"count", "--buffer-size", "127", "a.fq"}), HasSubstr("128 to"));
  EXPECT_THAT(error_of({"count", "--min-count", "0", "a.fq"}), HasSubstr("from 1"));
  EXPECT_THAT(error_of({"count", "--progress", "maybe", "a.fq"}),
              HasSubstr("auto, always or never"));
  EXPECT_THAT(error_of({"count", "--table", "x", "--histogram", "x", "a.fq"}),
              HasSubstr("same file"));
}

}  // namespace
}  // namespace kmer
