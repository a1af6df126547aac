#ifndef LCI_TOOLS_LAUNCHER_OUTPUT_H_
#define LCI_TOOLS_LAUNCHER_OUTPUT_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace lci::launcher {

// What is to be written to one of our own descriptors, in order. The descriptor is shared with
// others, so it stays in blocking mode: writes happen only when poll says that it takes bytes, and
// at most PIPE_BUF at a time, which then does not block.
class sink {
 public:
  explicit sink(int fd) : fd_(fd) {}

  int fd() const { return fd_; }
  void append(std::string_view bytes) {
    if (!closed_) pending_.append(bytes.data(), bytes.size());
  }
  bool empty() const { return written_ == pending_.size(); }
  // Holds so much that no more should be read for it.
  bool full() const { return pending_.size() - written_ >= limit; }
  // Call when poll has said POLLOUT (or an error). What can't be written because nobody reads any
  // more is dropped.
  void write_some();

 private:
  static constexpr size_t limit = size_t{1} << 20;

  int fd_;
  bool closed_ = false;
  std::string pending_;
  size_t written_ = 0;
};

// Cuts the output of one rank into lines and hands them whole to a sink, each behind the time
// (--timestamp), if `timestamps`, and `prefix`.
class line_splitter {
 public:
  line_splitter(sink* to, std::string prefix, bool timestamps)
      : to_(to), prefix_(std::move(prefix)), timestamps_(timestamps) {}

  void add(std::string_view bytes);
  // The rank has closed its end: a last line without a newline gets one.
  void finish();

 private:
  // A line that is longer comes out in pieces, so that memory stays bounded.
  static constexpr size_t longest_line = size_t{1} << 16;

  void flush_line();

  sink* to_;
  const std::string prefix_;
  const bool timestamps_;
  std::string line_;
};

// The local time of the clock: "2026-01-31 23:59:59.123 ".
std::string timestamp();

// Writes all of it to a descriptor that blocks, or gives up when nobody reads there.
void write_all(int fd, std::string_view bytes);

// What may come from another machine, for a terminal: without control characters.
std::string printable(std::string_view text);

// Where --output-dir has the output of a rank's stream 1 or 2.
std::string output_file(const std::string& dir, int rank, int stream);

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_OUTPUT_H_
