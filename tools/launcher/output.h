#ifndef LCI_TOOLS_LAUNCHER_OUTPUT_H_
#define LCI_TOOLS_LAUNCHER_OUTPUT_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "lci/base/status.h"
#include "lci/io/event_loop.h"

namespace lci::launcher {

// Bytes to write to stdout or stderr. Other processes share the descriptor, so it stays in blocking
// mode. The sink writes only when the loop reports POLLOUT, and at most PIPE_BUF bytes at a time,
// which then does not block. After an error, such as that the reader is gone or the disk is full,
// it drops all bytes.
class sink {
 public:
  // Calls `failed` with the errno of the first write that fails. `loop` outlives the object.
  sink(io::event_loop* loop, int fd, std::function<void(int)> failed)
      : loop_(loop),
        fd_(fd),
        failed_(std::move(failed)),
        watched_(loop->watch(fd, 0, [this] { write_some(); })) {}
  ~sink() { loop_->forget(watched_); }
  sink(const sink&) = delete;
  sink& operator=(const sink&) = delete;

  void append(std::string_view bytes);
  bool empty() const { return written_ == pending_.size(); }
  // Whether the sink holds so much that the caller should stop reading for it.
  bool full() const { return pending_.size() - written_ >= limit; }

 private:
  static constexpr size_t limit = size_t{1} << 20;

  void write_some();

  io::event_loop* const loop_;
  const int fd_;
  const std::function<void(int)> failed_;
  const io::event_loop::id watched_;
  bool closed_ = false;
  std::string pending_;
  size_t written_ = 0;
};

// Splits the output of one rank into lines and appends whole lines to a sink, each after the time
// (--timestamp), if `timestamps`, and `prefix`.
class line_splitter {
 public:
  line_splitter(sink* to, std::string prefix, bool timestamps)
      : to_(to), prefix_(std::move(prefix)), timestamps_(timestamps) {}

  void add(std::string_view bytes);
  // The rank has closed the stream. Adds a newline to an incomplete last line.
  void finish();

 private:
  // A longer line is split, so that memory stays bounded.
  static constexpr size_t longest_line = size_t{1} << 16;

  void flush_line();

  sink* to_;
  const std::string prefix_;
  const bool timestamps_;
  std::string line_;
};

// The local time, such as "2026-01-31 23:59:59.123 ".
std::string timestamp();

// Writes a line for the user to stderr.
void say(std::string_view line);

// "60 s", "0.5 s".
std::string text_of(std::chrono::milliseconds time);

// A text from another machine without control characters, for a terminal.
std::string printable(std::string_view text);

// Creates the directory of --output-dir, and those that it is in, where they do not exist.
base::Status make_output_directory(const std::string& dir);

// The file below --output-dir for stream 1 or 2 of a rank.
std::string output_file(const std::string& dir, int rank, int stream);

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_OUTPUT_H_
