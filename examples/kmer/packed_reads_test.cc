#include "examples/kmer/packed_reads.h"

#include <string>
#include <vector>

#include "examples/kmer/test_data.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kmer {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(packed_reads, gives_the_canonical_kmers_of_each_stretch) {
  packed_reads reads(3);
  append({"AACNGTTNCA"}, &reads);  // AAC; GTT, whose other strand is AAC; CA is too short
  EXPECT_THAT(kmers_of(reads, 3), ElementsAre("AAC", "AAC"));
  EXPECT_EQ(reads.kmers(), 2U);
}

TEST(packed_reads, stretches_around_the_size_of_a_word) {
  for (size_t length : {31, 32, 33, 63, 64, 65, 150}) {
    packed_reads reads(31);
    append({"NN" + std::string(length, 'A') + "NACGT"}, &reads);
    append({std::string(40, 'C')}, &reads);
    std::vector<std::string> expected(length - 30, std::string(31, 'A'));
    expected.insert(expected.end(), 10, std::string(31, 'C'));
    EXPECT_EQ(kmers_of(reads, 31), expected) << length;
  }
}

TEST(packed_reads, short_stretches_leave_nothing_behind) {
  packed_reads reads(51);
  append({std::string(50, 'G') + "N" + std::string(50, 'T')}, &reads);
  EXPECT_EQ(reads.kmers(), 0U);
  append({std::string(51, 'A')}, &reads);
  EXPECT_EQ(reads.kmers(), 1U);
  reads.for_each_stretch([](const uint64_t* words, size_t length) {
    EXPECT_EQ(length, 51U);
    EXPECT_EQ(words[0], 0U);
    EXPECT_EQ(words[1], 0U);
  });
}

TEST(packed_reads, can_be_used_again_after_clear) {
  packed_reads reads(2);
  append({"ACG"}, &reads);
  reads.clear();
  EXPECT_THAT(kmers_of(reads, 2), IsEmpty());
  append({"GG"}, &reads);
  EXPECT_THAT(kmers_of(reads, 2), ElementsAre("CC"));
}

}  // namespace
}  // namespace kmer
