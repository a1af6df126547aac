// Files of results.
#ifndef EXAMPLES_KMER_OUTPUT_H_
#define EXAMPLES_KMER_OUTPUT_H_

#include <cstdint>
#include <cstdio>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace kmer {

class output_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A text file that is written, from any thread. All members throw output_error.
class output_file {
 public:
  // "-" is standard output.
  explicit output_file(const std::string& path);
  ~output_file();
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;

  void write(absl::string_view text);
  // Without this the contents may be incomplete without a word.
  void close();

 private:
  [[noreturn]] void fail(const char* what) const;

  const std::string path_;
  std::mutex mutex_;
  std::FILE* file_;
};

// Counts of counts. Not thread-safe.
class histogram {
 public:
  // Counts above `high` are lumped together as high + 1, as `jellyfish histo` does.
  explicit histogram(uint64_t high) : bins_(high + 2) {}

  void add(uint64_t count, uint64_t kmers = 1) {
    bins_[count < bins_.size() ? count : bins_.size() - 1] += kmers;
  }
  // Adds the k-mers of a histogram with the same `high`.
  void add(const histogram& other) {
    for (size_t i = 0; i < bins_.size(); ++i) bins_[i] += other.bins_[i];
  }
  // Numbers of k-mers by count, from 0 to high + 1; for a sum over ranks.
  std::vector<uint64_t>& bins() { return bins_; }
  // Lines "count k-mers", in order, without zeros.
  std::string text() const;

 private:
  std::vector<uint64_t> bins_;
};

}  // namespace kmer

#endif  // EXAMPLES_KMER_OUTPUT_H_
