#include "tools/launcher/job_bootstrap.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "lci/base/strings.h"
#include "lci/boot/job_directory.h"
#include "tools/launcher/output.h"

namespace lci::launcher {
namespace {

constexpr int failed_exit_code = 1;
// How often the files of a job are read, with --boot file, while a rank has ended before others.
constexpr std::chrono::milliseconds look_period{200};
// From the end of the connection of a rank to the report of its own end.
constexpr std::chrono::milliseconds time_to_end{2000};
// A rank answers within milliseconds, unless its processes wait for processors.
constexpr std::chrono::milliseconds time_to_answer{3000};

}  // namespace

job_bootstrap::job_bootstrap(io::event_loop* loop, events* to, const job_plan* plan)
    : loop_(loop), to_(to), plan_(plan), exited_(static_cast<size_t>(plan->ranks)) {}

job_bootstrap::~job_bootstrap() {
  loop_->forget(server_watched_);
  loop_->cancel(look_timer_);
  loop_->cancel(replaced_timer_);
  loop_->cancel(answer_timer_);
}

base::Status job_bootstrap::listen(const std::string& bind) {
  boot::tcp_server::options serve;
  serve.bind_address = bind;
  serve.size = plan_->ranks;
  serve.token = plan_->token;
  serve.job_id = plan_->id;
  auto server = boot::tcp_server::listen(serve);
  if (!server.ok()) {
    return base::Status(server.status().code(),
                        base::StrCat("can't serve the bootstrap: ", server.status().ToString()));
  }
  server_ = *std::move(server);
  server_watched_ = loop_->watch(server_->poll_fd(), POLLIN, [this] { look(); });
  return base::OkStatus();
}

void job_bootstrap::look() {
  if (server_ == nullptr) return;
  server_->step();
  look_at_queries();
  look_for_ranks_that_left();
  look_for_replaced_ranks();
  const auto report = server_->aborted();
  if (!report || abort_seen_) return;
  abort_seen_ = true;
  // Rank -1: the server itself.
  const std::string who =
      report->rank < 0 ? "" : base::StrCat(to_->name_of(report->rank), " aborted the job: ");
  to_->failed(failed_exit_code, base::StrCat(who, printable(report->reason)));
}

void job_bootstrap::rank_exited(int rank) {
  exited_[static_cast<size_t>(rank)] = true;
  look_for_ranks_that_left();
}

// The end of a rank on another host may be reported before the end of its connection.
void job_bootstrap::look_for_ranks_that_left() {
  if (has_ended_) return;
  const std::vector<rank_state> all = states();
  const bool is_awaited = std::find(all.begin(), all.end(), rank_state::connected) != all.end();
  for (size_t i = 0; i < all.size() && i < exited_.size(); ++i) {
    if (!exited_[i] || all[i] == rank_state::connected) continue;
    // Before any rank has joined, the program may not use the library at all.
    if (all[i] == rank_state::absent && !is_awaited) continue;
    exited_[i] = false;
    if (all[i] == rank_state::finished) continue;
    const std::string what =
        all[i] == rank_state::lost
            ? "without g_runtime_fina (global_finalize) while other ranks continue"
            : "before g_runtime_init (global_initialize), in which other ranks "
              "wait for it";
    const int rank = static_cast<int>(i);
    if (server_ != nullptr) {
      server_->abort(rank, base::StrCat("it ended ", what));
      server_->step();
    }
    to_->failed(failed_exit_code,
                base::StrCat(to_->name_of(rank), " ended, with exit code 0, ", what));
    return;
  }
  // With --boot file there is no message that a rank has joined.
  const bool is_open = std::find(exited_.begin(), exited_.end(), true) != exited_.end();
  if (server_ == nullptr && is_open && look_timer_ == 0) {
    look_timer_ = loop_->at(io::steady::now() + look_period, [this] {
      look_timer_ = 0;
      look_for_ranks_that_left();
    });
  }
}

// A rank whose connection ends without g_runtime_fina mostly ends at that moment, and its end is
// reported. A rank that executes another program continues, and other ranks would wait for it.
void job_bootstrap::look_for_replaced_ranks() {
  if (has_ended_ || replaced_timer_ != 0) return;
  for (int rank = 0; rank < plan_->ranks; ++rank) {
    const auto is_replaced = [this, rank] {
      return server_->state(rank) == rank_state::lost && to_->is_running(rank);
    };
    if (!is_replaced()) continue;
    replaced_timer_ = loop_->at(io::steady::now() + time_to_end, [this, rank, is_replaced] {
      replaced_timer_ = 0;
      if (!is_replaced()) return look_for_replaced_ranks();
      const char* const what =
          "has left the job without g_runtime_fina (global_finalize), and runs on: it has executed "
          "another program, or closed descriptors that are not its own";
      server_->abort(rank, base::StrCat("it ", what));
      to_->failed(failed_exit_code, base::StrCat(to_->name_of(rank), " ", what));
    });
    return;
  }
}

std::vector<boot::rank_state> job_bootstrap::states() const {
  std::vector<rank_state> found;
  if (server_ == nullptr) return directory_.empty() ? found : boot::look_at_file_job(directory_);
  for (int rank = 0; rank < plan_->ranks; ++rank) found.push_back(server_->state(rank));
  return found;
}

bool job_bootstrap::has_connected_ranks() const {
  return server_ != nullptr && server_->count(rank_state::connected) > 0;
}

void job_bootstrap::ask(const std::string& reason, receiver then) {
  if (server_ == nullptr) {
    return then(nullptr, base::StrCat(reason,
                                      ": no state of the ranks: with --boot file, lcrun is not "
                                      "connected"));
  }
  look_at_queries();
  if (!is_asked_ && !has_connected_ranks()) {
    return then(nullptr,
                "no rank uses LCI now: a rank can be asked from g_runtime_init to g_runtime_fina");
  }
  then_.push_back(std::move(then));
  if (is_asked_) return;
  server_->put(observe::query_key(query_), reason);
  begin_query(reason, false);
  // Before all ranks are there, those that are can't answer.
  if (server_->count(rank_state::absent) > 0) end_query();
}

void job_bootstrap::look_at_queries() {
  if (!is_asked_) {
    // The store is emptied when another program begins in the same job.
    if (query_ > 0 && server_->look_up(observe::query_key(query_ - 1)) == nullptr) query_ = 0;
    if (const std::string* reason = server_->look_up(observe::query_key(query_)))
      begin_query(*reason, true);
  }
  if (is_asked_ && !any_answer_missing()) end_query();
}

bool job_bootstrap::any_answer_missing() const {
  for (int rank = 0; rank < plan_->ranks; ++rank) {
    if (server_->state(rank) == rank_state::connected &&
        server_->look_up(observe::answer_key(query_, rank)) == nullptr) {
      return true;
    }
  }
  return false;
}

void job_bootstrap::begin_query(const std::string& reason, bool is_of_rank) {
  is_asked_ = true;
  is_of_rank_ = is_of_rank;
  reason_ = reason;
  answer_timer_ = loop_->at(io::steady::now() + time_to_answer, [this] {
    answer_timer_ = 0;
    if (is_asked_) end_query();
  });
}

void job_bootstrap::end_query() {
  loop_->cancel(std::exchange(answer_timer_, 0));
  observe::job_report report;
  report.reason = reason_;
  report.size = plan_->ranks;
  for (int rank = 0; rank < plan_->ranks; ++rank) {
    const std::string* const text = server_->look_up(observe::answer_key(query_, rank));
    if (text == nullptr) {
      report.silent.push_back({rank, state_of(rank)});
      continue;
    }
    auto answer = observe::decode(*text);
    if (answer.ok()) {
      report.ranks.push_back(*std::move(answer));
    } else {
      report.silent.push_back(
          {rank, base::StrCat("gave an answer that can't be read: ", answer.status().message())});
    }
  }
  is_asked_ = false;
  ++query_;
  if (is_of_rank_) to_->show(report);
  for (const receiver& each : std::exchange(then_, {})) each(&report, "");
}

std::string job_bootstrap::state_of(int rank) const {
  if (!to_->is_running(rank)) return "has ended";
  if (to_->is_stopped(rank)) return "is stopped (by SIGSTOP or SIGTSTP)";
  switch (server_->state(rank)) {
    case rank_state::absent:
      return "runs, and has not called g_runtime_init yet";
    case rank_state::connected:
      return server_->count(rank_state::absent) > 0
                 ? "waits in g_runtime_init for the ranks that have not called it"
                 : "does not answer";
    case rank_state::finished:
      return "runs, and has called g_runtime_fina";
    case rank_state::lost:
      return "has lost its connection to lcrun";
  }
  return "";
}

}  // namespace lci::launcher
