#ifndef LCI_TOOLS_LAUNCHER_REPORT_SERVER_H_
#define LCI_TOOLS_LAUNCHER_REPORT_SERVER_H_

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "lci/base/status.h"
#include "lci/io/event_loop.h"
#include "lci/io/unique_fd.h"
#include "lci/observe/job_report.h"
#include "tools/launcher/report_directory.h"

namespace lci::launcher {

// Answers `lcrun --report` of the same user for a job. Closes connections of other users without an
// answer.
//
// Thread safety: the thread of the event loop.
class report_server {
 public:
  // Receives the report, or null and the reason why there is none.
  using receiver = std::function<void(const observe::job_report* report, const std::string& why)>;
  struct job {
    std::string id;
    std::string title;                  // such as "4 ranks of ./program"
    std::function<void(receiver)> ask;  // calls the receiver once, now or later
  };

  // Listens in `directory`. `loop` outlives the object.
  static base::StatusOr<std::unique_ptr<report_server>> make(io::event_loop* loop,
                                                             report_directory directory, job of);
  ~report_server();
  report_server(const report_server&) = delete;
  report_server& operator=(const report_server&) = delete;

 private:
  struct client {
    io::unique_fd socket;
    io::event_loop::id watched = 0;
    std::string answer;  // not yet written
  };

  report_server(io::event_loop* loop, report_directory directory, job of, io::unique_fd listener);
  void accept_one();
  void pause_accepting();
  void read_request(const std::shared_ptr<client>& from);
  void answer(const std::shared_ptr<client>& to, answer_kind kind, const std::string& text);
  void write_some(const std::shared_ptr<client>& to);
  void close(const std::shared_ptr<client>& which);

  io::event_loop* const loop_;
  const report_directory directory_;
  const job job_;
  const io::unique_fd listener_;
  io::event_loop::id watched_;
  io::event_loop::id resume_timer_ = 0;          // while watched_ is not watched
  std::deque<std::shared_ptr<client>> clients_;  // the oldest first
};

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_REPORT_SERVER_H_
