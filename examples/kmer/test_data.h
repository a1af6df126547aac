// For the tests: sequences, the files that hold them, and their k-mers counted the obvious way.
#ifndef EXAMPLES_KMER_TEST_DATA_H_
#define EXAMPLES_KMER_TEST_DATA_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "examples/kmer/packed_reads.h"

namespace kmer {

std::string random_bases(size_t length, unsigned seed);
std::string reverse_complement(std::string bases);

// `count` reads of 0 to 2 * mean_length bases from either strand of a random genome, some with an
// error, some with an N.
std::vector<std::string> random_reads(size_t count, size_t genome_length, size_t mean_length,
                                      unsigned seed);

// Qualities that begin with '@' and '+' where a reader could stumble over them.
std::string fastq(const std::vector<std::string>& reads, const char* line_end = "\n");
// Lines of `width` bases.
std::string fasta(const std::vector<std::string>& reads, size_t width, const char* line_end = "\n");
// One gzip member.
std::string gzipped(const std::string& text);

// A file in the test's own directory; returns its path.
std::string write_file(const std::string& name, const std::string& bytes);

// Canonical k-mer to count, with strings and a std::map.
std::map<std::string, uint64_t> count_simply(const std::vector<std::string>& reads, size_t k);

// Appends sequences of letters, each as a stretch or, where it has an N, several.
void append(const std::vector<std::string>& reads, packed_reads* to);
// The canonical k-mers of all stretches, in order; k of up to 32.
std::vector<std::string> kmers_of(const packed_reads& reads, int k);
// The same, counted.
std::map<std::string, uint64_t> counts_of(const packed_reads& reads, int k);

}  // namespace kmer

#endif  // EXAMPLES_KMER_TEST_DATA_H_
