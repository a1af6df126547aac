// From the text of FASTA and FASTQ to packed reads, one piece of a file at a time.
//
// A piece may begin and end anywhere in FASTA, and at records in FASTQ; together the pieces of a
// file give every read, base and k-mer exactly once, however it was cut.
#ifndef EXAMPLES_KMER_RECORDS_H_
#define EXAMPLES_KMER_RECORDS_H_

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "absl/strings/string_view.h"
#include "examples/kmer/packed_reads.h"

namespace kmer {

enum class text_format { empty, fasta, fastq };

// Something that is not FASTA or FASTQ as we know it, at text[offset].
class text_error : public std::runtime_error {
 public:
  text_error(size_t offset, const std::string& what) : std::runtime_error(what), offset_(offset) {}
  size_t offset() const { return offset_; }

 private:
  size_t offset_;
};

struct read_counts {
  uint64_t reads = 0;
  uint64_t bases = 0;
};

// A FASTA header may have this many bytes; a piece therefore finds out what it begins in by looking
// back so far.
constexpr size_t max_header_bytes = 64 * 1024;

// Parses text from `begin` on. The text before `begin` is context: the end of the preceding piece,
// from a place that is not inside a header; it gives the k-mers that begin before `begin` their
// first bases, and is not checked. A k-mer belongs to the piece that holds its last base. Throws
// text_error.
void parse_fasta(absl::string_view text, size_t begin, int k, packed_reads* reads,
                 read_counts* counts);

// Parses whole records of four lines. Throws text_error.
void parse_fastq(absl::string_view text, packed_reads* reads, read_counts* counts);

// Offset of the first record that begins at or after `from`, npos if only more text can show that.
// With `at_end`, there is no more text, and the answer can be text.size(). A record begins with a
// line whose first letter is '@' and whose next but one has '+' as its first: a quality line can
// begin with '@' too, but the next but one after it holds bases, which never begin with '+'.
size_t find_fastq_record(absl::string_view text, size_t from, bool at_end);

// The part of `text`, which begins at a record, that holds whole records. All of it if it is not
// FASTQ: parse_fastq will say why.
absl::string_view complete_fastq_records(absl::string_view text);

}  // namespace kmer

#endif  // EXAMPLES_KMER_RECORDS_H_
