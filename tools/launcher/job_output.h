#ifndef LCI_TOOLS_LAUNCHER_JOB_OUTPUT_H_
#define LCI_TOOLS_LAUNCHER_JOB_OUTPUT_H_

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "lci/base/status.h"
#include "lci/io/event_loop.h"
#include "tools/launcher/output.h"

namespace lci::launcher {

// Writes the output of the ranks that lcrun receives: unchanged or by lines to stdout and stderr,
// or to the files of --output-dir.
//
// Thread safety: the thread of the event loop.
class job_output {
 public:
  struct format {
    std::string directory;   // --output-dir; empty: none
    bool label = false;      // --label
    bool timestamp = false;  // --timestamp
    bool hosts = false;      // the label names the host, too
    bool by_line() const { return label || timestamp; }
  };

  // Called with the name of the stream or file that can't be written, and the errno of the write.
  // What the ranks write there from then on is lost.
  using loss_handler = std::function<void(const std::string& where, int error)>;

  // Calls `lost` once for the standard output, for the standard error stream, and for all files
  // together. `loop` outlives the object.
  job_output(io::event_loop* loop, format how, loss_handler lost);

  // Creates the files of --output-dir, if it is given, or truncates them. An error names the file.
  base::Status make_files(int ranks) const;
  // Adds output of a rank on `host`, from stream 1 (stdout) or 2 (stderr). Empty: the end of the
  // stream.
  void add(int rank, const std::string& host, int stream, std::string_view bytes);
  // Whether the caller should stop reading from the ranks.
  bool full() const { return out_.full() || error_.full(); }
  // Completes the last lines, and runs the loop until all output is written.
  void finish();

 private:
  void add_lines(int rank, const std::string& host, int stream, std::string_view bytes);
  void add_to_file(int rank, int stream, std::string_view bytes);
  sink* sink_of(int stream) { return stream == 1 ? &out_ : &error_; }

  io::event_loop* const loop_;
  const format format_;
  const loss_handler lost_;
  bool has_lost_files_ = false;
  sink out_;
  sink error_;
  std::map<std::pair<int, int>, line_splitter> lines_;  // by rank and stream
};

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_JOB_OUTPUT_H_
