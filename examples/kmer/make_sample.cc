// make_sample DIRECTORY: reads in several formats, and the histogram of their 51-mers counted the
// obvious way.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "examples/kmer/test_data.h"

namespace {

void write(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  if (!file.flush()) throw std::runtime_error("can't write " + path);
}

void make_sample(const std::string& directory) {
  const std::vector<std::string> reads = kmer::random_reads(12000, 60000, 75, 2024);
  const auto third = static_cast<long>(reads.size() / 3);
  write(directory + "/1.fq", kmer::fastq({reads.begin(), reads.begin() + third}));
  write(directory + "/2.fa",
        kmer::fasta({reads.begin() + third, reads.begin() + 2 * third}, 60, "\r\n"));
  write(directory + "/3.fq.gz",
        kmer::gzipped(kmer::fastq({reads.begin() + 2 * third, reads.end()})));

  std::map<uint64_t, uint64_t> histogram;
  for (const auto& [kmer, count] : kmer::count_simply(reads, 51)) ++histogram[count];
  std::string text;
  for (const auto& [count, kmers] : histogram) {
    text += std::to_string(count) + " " + std::to_string(kmers) + "\n";
  }
  write(directory + "/expected.histo", text);

  // Bad ones.
  std::vector<std::string> wrong = reads;
  wrong.back() += "R";
  const std::string good = kmer::fastq(reads);
  const std::string packed = kmer::gzipped(good);
  write(directory + "/letter.fq", kmer::fastq(wrong));
  write(directory + "/short.fq", good.substr(0, good.size() - 10));
  write(directory + "/truncated.fq.gz", packed.substr(0, packed.size() / 2));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 2) throw std::runtime_error("usage: make_sample DIRECTORY");
    make_sample(argv[1]);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
