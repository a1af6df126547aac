#ifndef LCI_TOOLS_LAUNCHER_JOB_BOOTSTRAP_H_
#define LCI_TOOLS_LAUNCHER_JOB_BOOTSTRAP_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lci/base/status.h"
#include "lci/boot/tcp_server.h"
#include "lci/io/event_loop.h"
#include "lci/observe/job_report.h"
#include "tools/launcher/plan.h"

namespace lci::launcher {

// lcrun's view of a job's ranks through their bootstrap, which is its server or a directory: a
// rank that ends the job, ranks that have left while others wait for them, and what ranks wait for.
//
// Thread safety: the thread of the event loop.
class job_bootstrap {
 public:
  class events {
   public:
    // A failure that ends the job: lcrun's exit code, and a text for the user.
    virtual void failed(int code, const std::string& what) = 0;
    virtual bool is_running(int rank) const = 0;
    virtual bool is_stopped(int rank) const = 0;
    virtual std::string name_of(int rank) const = 0;
    // A rank has asked for a report.
    virtual void show(const observe::job_report& report) = 0;

   protected:
    ~events() = default;
  };

  // Receives the report, or null and the reason why there is none.
  using receiver = std::function<void(const observe::job_report* report, const std::string& why)>;

  // `loop`, `to` and `plan` outlive the object.
  job_bootstrap(io::event_loop* loop, events* to, const job_plan* plan);
  ~job_bootstrap();
  job_bootstrap(const job_bootstrap&) = delete;
  job_bootstrap& operator=(const job_bootstrap&) = delete;

  // Serves the ranks at `bind` (host:port), or looks at their files in `directory`.
  base::Status listen(const std::string& bind);
  void use_directory(const std::string& directory) { directory_ = directory; }

  // After listen(): where the server listens.
  const std::string& address() const { return server_->address(); }

  // Handles the messages of the ranks that have arrived, as the loop does. For callers whose
  // decision depends on them.
  void look();
  // A rank has ended with exit code 0.
  void rank_exited(int rank);
  // The job has failed: no more failures are reported.
  void end() { has_ended_ = true; }

  // Whether a rank can be asked for its state.
  bool has_connected_ranks() const;
  // Whether the job's bootstrap can ask ranks at all.
  bool serves() const { return server_ != nullptr; }
  // Calls `then` with the report, or with the reason why no rank can be asked.
  // A query, which the launcher or a rank (observe::observer) begins through keys of the server's
  // store, ends when all connected ranks have answered, or after 3 s. At most one is under way: a
  // call meanwhile gets its report.
  void ask(const std::string& reason, receiver then);

 private:
  using rank_state = boot::rank_state;

  // By rank; empty if nothing is known.
  std::vector<rank_state> states() const;
  void look_for_ranks_that_left();
  void look_for_replaced_ranks();
  // The state of a rank that has not answered, such as "is stopped".
  std::string state_of(int rank) const;

  // Looks for queries of ranks and for answers.
  void look_at_queries();
  bool any_answer_missing() const;
  void begin_query(const std::string& reason, bool is_of_rank);
  void end_query();

  io::event_loop* const loop_;
  events* const to_;
  const job_plan* const plan_;
  std::string directory_;
  std::unique_ptr<boot::tcp_server> server_;  // null: the ranks use files
  std::vector<bool> exited_;                  // by rank: with exit code 0, and still connected
  bool has_ended_ = false;
  bool abort_seen_ = false;
  io::event_loop::id server_watched_ = 0;
  io::event_loop::id look_timer_ = 0;      // until the next look_for_ranks_that_left
  io::event_loop::id replaced_timer_ = 0;  // of look_for_replaced_ranks

  int query_ = 0;          // the number of the next query, or of the one under way
  bool is_asked_ = false;  // a query is under way
  std::string reason_;
  bool is_of_rank_ = false;  // whether a rank has begun the query
  io::event_loop::id answer_timer_ = 0;
  std::vector<receiver> then_;
};

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_JOB_BOOTSTRAP_H_
