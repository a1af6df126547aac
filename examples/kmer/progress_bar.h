// A line on the terminal that says how far the work is.
#ifndef EXAMPLES_KMER_PROGRESS_BAR_H_
#define EXAMPLES_KMER_PROGRESS_BAR_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "examples/kmer/options.h"

namespace kmer {

// For one thread.
class progress_bar {
 public:
  // Shown if `choice` and the terminal say so.
  explicit progress_bar(when choice);

  bool shown() const { return shown_; }
  // `done` of `total` pieces of what is called `step`. Draws ten times a second at most.
  void update(const std::string& step, uint64_t done, uint64_t total);
  // Removes the line, so that something else can be printed.
  void clear();

  // The line, without control characters.
  static std::string line(const std::string& step, uint64_t done, uint64_t total);

 private:
  bool shown_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace kmer

#endif  // EXAMPLES_KMER_PROGRESS_BAR_H_
