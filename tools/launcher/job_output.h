#ifndef LCI_TOOLS_LAUNCHER_JOB_OUTPUT_H_
#define LCI_TOOLS_LAUNCHER_JOB_OUTPUT_H_

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "lci/base/status.h"
#include "tools/launcher/event_loop.h"
#include "tools/launcher/output.h"

namespace lci::launcher {

// The output of the ranks as far as it comes through lcrun: to its own descriptors, as it comes or
// by lines, or to the files of --output-dir.
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

  // `loop` must outlive it.
  job_output(event_loop* loop, format how);
  ~job_output();

  // Makes the files of --output-dir empty, if there are any; an error names the file.
  base::Status make_files(int ranks) const;
  // Adds output of a rank on `host`, of stream 1 (stdout) or 2 (stderr); no bytes: its end.
  void add(int rank, const std::string& host, int stream, std::string_view bytes);
  // Whether more may be read from the ranks now.
  bool full() const { return out_.full() || error_.full(); }
  // Before the loop waits.
  void before_wait();
  // Completes the last lines and runs the loop until all is written.
  void finish();

 private:
  void add_lines(int rank, const std::string& host, int stream, std::string_view bytes);
  sink* sink_of(int stream) { return stream == 1 ? &out_ : &error_; }

  event_loop* const loop_;
  const format format_;
  sink out_;
  sink error_;
  event_loop::id out_watched_;
  event_loop::id error_watched_;
  std::map<std::pair<int, int>, line_splitter> lines_;  // by rank and stream
};

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_JOB_OUTPUT_H_
