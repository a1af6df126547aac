// Asks the ranks of a job what they wait for, and joins their answers to a report.
#ifndef LCI_TOOLS_LAUNCHER_STATE_QUERY_H_
#define LCI_TOOLS_LAUNCHER_STATE_QUERY_H_

#include <functional>
#include <string>
#include <vector>

#include "lci/boot/tcp_server.h"
#include "lci/io/event_loop.h"
#include "lci/observe/job_report.h"

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
    // Receives the reports of queries that a rank has begun.
    std::function<void(const observe::job_report&)> show;
  };

  // `loop` and `server` outlive the object.
  state_query(io::event_loop* loop, boot::tcp_server* server, job of);
  ~state_query();
  state_query(const state_query&) = delete;
  state_query& operator=(const state_query&) = delete;

  // Receives a report, or null if no rank is connected.
  using receiver = std::function<void(const observe::job_report*)>;

  // Begins a query, unless one is under way, and calls `then` with its report. If no rank is
  // connected, calls `then` at once.
  void ask(const std::string& reason, receiver then);

  // Looks for queries of ranks and for answers. Call after each step of the server.
  void look();

 private:
  bool any_missing() const;
  void begin(const std::string& reason, bool is_of_rank);
  void end();

  io::event_loop* const loop_;
  boot::tcp_server* const server_;
  const job job_;
  int query_ = 0;  // the number of the next query, or of the one under way
  bool is_open_ = false;
  std::string reason_;
  io::event_loop::id deadline_ = 0;
  bool is_of_rank_ = false;  // whether a rank has begun the query
  std::vector<receiver> then_;
};

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_STATE_QUERY_H_
