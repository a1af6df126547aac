// Asks the ranks of a job what they wait for, and joins their answers to a report.
#ifndef LCI_TOOLS_LAUNCHER_STATE_QUERY_H_
#define LCI_TOOLS_LAUNCHER_STATE_QUERY_H_

#include <functional>
#include <string>
#include <vector>

#include "lci/boot/tcp_server.h"
#include "lci/observe/job_report.h"
#include "tools/launcher/event_loop.h"

namespace lci::launcher {

// The launcher or a rank (observe::observer) begins a query, through keys of the server's store. At
// most one query is under way. A query ends when all connected ranks have answered, or after a time
// limit of 3 s.
//
// Thread safety: the thread of the event loop.
class state_query {
 public:
  struct job {
    int ranks = 0;
    // The state of a rank that has not answered, such as "is stopped".
    std::function<std::string(int rank)> state_of;
    // Receives the report of a query.
    std::function<void(const observe::job_report&)> show;
  };

  // `loop` and `server` outlive the object.
  state_query(event_loop* loop, boot::tcp_server* server, job of);
  ~state_query();
  state_query(const state_query&) = delete;
  state_query& operator=(const state_query&) = delete;

  // Begins a query, unless one is under way, and calls `then` at the end of the query. If no rank
  // is connected, calls `then` at once.
  void ask(const std::string& reason, std::function<void()> then);

  // Looks for queries of ranks and for answers. Call after each step of the server.
  void look();

 private:
  bool any_missing() const;
  void begin(const std::string& reason);
  void end();

  event_loop* const loop_;
  boot::tcp_server* const server_;
  const job job_;
  int query_ = 0;  // the number of the next query, or of the one under way
  bool is_open_ = false;
  std::string reason_;
  event_loop::id deadline_ = 0;
  std::vector<std::function<void()>> then_;
};

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_STATE_QUERY_H_
