// Gives every rank and thread its share of the input files.
//
//   plain  A file is cut into chunks of equal size, chunk number i of all files belongs to rank
//          i modulo ranks, and the rank's threads take theirs one after the other. Nobody has to
//          read what comes before.
//   gzip   Can't be entered in the middle, and two ranks inflating the same file would do twice the
//          work that is the bottleneck. Stream number i of all files belongs to rank i modulo
//          ranks; there, whichever thread comes first inflates the next block and then parses it,
//          while the next thread inflates. So one stream keeps one core busy inflating while the
//          others parse and count. For more than that, give several files, or plain ones.
#ifndef EXAMPLES_KMER_INPUT_H_
#define EXAMPLES_KMER_INPUT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "examples/kmer/byte_stream.h"
#include "examples/kmer/packed_reads.h"
#include "examples/kmer/records.h"

namespace kmer {

struct input_file {
  std::string path;
  text_format format = text_format::empty;
  bool gzip = false;
  uint64_t size = 0;  // bytes, compressed
};

// Looks at the beginning of each file. Throws input_error for one that can't be read or that is
// neither FASTA nor FASTQ. A file without a byte is fine and holds no reads.
std::vector<input_file> examine(const std::vector<std::string>& paths);

// A guess, never relied on: bases in the files.
uint64_t estimate_bases(const std::vector<input_file>& files);

// A piece of a file, as parse_fasta and parse_fastq want it.
struct text_unit {
  size_t file = 0;      // index
  uint64_t offset = 0;  // of text[0] in the file's text
  size_t begin = 0;     // first byte of the piece in `text`; what stands before is context
  std::string text;
};

// Thread-safe.
class input {
 public:
  // Plain chunks and inflated blocks have about `chunk_bytes`, at least 1.
  input(std::vector<input_file> files, int rank, int ranks, size_t chunk_bytes);
  ~input();

  // busy: another thread is inflating what comes next; come back.
  enum class answer { unit, busy, end };
  // Throws input_error.
  answer next(text_unit* unit);

  // Appends the unit's reads. Throws input_error naming file, record and position.
  void parse(const text_unit& unit, int k, packed_reads* reads, read_counts* counts) const;

  // Of this rank's share, in bytes of the files.
  uint64_t total_bytes() const { return total_bytes_; }
  uint64_t done_bytes() const { return done_bytes_.load(std::memory_order_relaxed); }

 private:
  struct stream;
  struct chunk {
    size_t file;
    uint64_t number;
  };

  void load_chunk(const chunk& part, text_unit* unit) const;
  bool next_block(stream* from, text_unit* unit);

  const std::vector<input_file> files_;
  const size_t chunk_bytes_;
  std::vector<std::unique_ptr<input_descriptor>> descriptors_;  // of the plain files
  std::vector<chunk> chunks_;                                   // this rank's
  std::atomic<size_t> next_chunk_{0};
  std::vector<std::unique_ptr<stream>> streams_;  // this rank's
  uint64_t total_bytes_ = 0;
  std::atomic<uint64_t> done_bytes_{0};
};

}  // namespace kmer

#endif  // EXAMPLES_KMER_INPUT_H_
