// Asks the ranks of a job what they wait for, and collects the answers.
#ifndef LCI_TOOLS_LAUNCHER_STATE_QUERY_H_
#define LCI_TOOLS_LAUNCHER_STATE_QUERY_H_

#include <functional>
#include <string>
#include <vector>

#include "lci/boot/tcp_server.h"
#include "lci/observe/job_report.h"
#include "tools/launcher/event_loop.h"

namespace lci::launcher {

// One query at a time, by the launcher or by a rank (observe::observer); both use keys of the
// server's store. A query ends when every rank that is connected has answered, or when the time to
// answer has passed.
//
// Thread safety: the thread of the event loop.
class state_query {
 public:
  struct job {
    int ranks = 0;
    // What a rank that has not answered does, as "is stopped".
    std::function<std::string(int rank)> state_of;
    // Takes the report of a query.
    std::function<void(const observe::job_report&)> show;
  };

  // `loop` and `server` outlive it.
  state_query(event_loop* loop, boot::tcp_server* server, job of);
  ~state_query();
  state_query(const state_query&) = delete;
  state_query& operator=(const state_query&) = delete;

  // Begins a query, or joins the one under way, and calls `then` when it has ended, which is at
  // once if no rank is connected.
  void ask(const std::string& reason, std::function<void()> then);

  // Looks for queries of ranks, and for answers. After each step of the server.
  void look();

 private:
  bool any_missing() const;
  void begin(const std::string& reason);
  void end();

  event_loop* const loop_;
  boot::tcp_server* const server_;
  const job job_;
  int query_ = 0;  // the next one, or that under way
  bool is_open_ = false;
  std::string reason_;
  event_loop::id deadline_ = 0;
  std::vector<std::function<void()>> then_;
};

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_STATE_QUERY_H_
