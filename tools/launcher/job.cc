#include "tools/launcher/job.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lci/base/rank_list.h"
#include "lci/base/status.h"
#include "lci/base/strings.h"
#include "lci/boot/file_view.h"
#include "lci/boot/tcp_server.h"
#include "lci/io/event_loop.h"
#include "tools/launcher/addresses.h"
#include "tools/launcher/binding.h"
#include "tools/launcher/job_output.h"
#include "tools/launcher/local_rank_group.h"
#include "tools/launcher/output.h"
#include "tools/launcher/process.h"
#include "tools/launcher/rank_group.h"
#include "tools/launcher/remote_rank_group.h"
#include "tools/launcher/report_directory.h"
#include "tools/launcher/report_server.h"
#include "tools/launcher/state_query.h"
#include "tools/launcher/terminal_input.h"

namespace lci::launcher {
namespace {

// The signals that lcrun forwards to the ranks.
constexpr int forwarded_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR2, SIGTSTP, SIGCONT};
// Requests a report of what the ranks wait for; forwarded if no rank uses the library.
constexpr int report_signal = SIGUSR1;

constexpr int timeout_exit_code = 124;  // as timeout(1)
constexpr int start_exit_code = 1;

using rank_state = boot::tcp_server::rank_state;
// How often the files of a job are read, with --boot file, while a rank has ended before others.
constexpr std::chrono::milliseconds look_period{200};
// From the end of the connection of a rank to the report of its own end.
constexpr std::chrono::milliseconds time_to_end{2000};

void say(const std::string& line) { write_all(STDERR_FILENO, base::StrCat("lcrun: ", line, "\n")); }

// Prints a report, or the reason why there is none. An empty reason is not printed.
void show(const observe::job_report* report, const std::string& why) {
  if (report != nullptr) {
    say(observe::to_text(*report));
  } else if (!why.empty()) {
    say(why);
  }
}

// An absolute path, because ranks may run in another directory.
std::string temporary_directory() {
  const char* given = std::getenv("TMPDIR");
  const std::string dir = given != nullptr && *given != 0 ? given : "/tmp";
  char* absolute = realpath(dir.c_str(), nullptr);
  const std::string path = absolute != nullptr ? absolute : dir;
  std::free(absolute);
  return path;
}

class job final : rank_group::events {
 public:
  job(const launch_options& options, job_plan plan)
      : options_(options),
        plan_(std::move(plan)),
        output_(&loop_, output_format()),
        exited_(static_cast<size_t>(plan_.ranks)),
        stopped_(static_cast<size_t>(plan_.ranks)) {}
  ~job() { loop_.forget(server_watched_); }
  int run();

 private:
  job_output::format output_format() const {
    return {options_.output_dir, options_.label, options_.timestamp, plan_.helpers};
  }
  bool prepare();
  bool prepare_rendezvous(const std::string& bind);
  bool prepare_rank_group();
  void warn_of_oversubscription();
  void read_signals();
  void look_at_rendezvous();
  void look_for_ranks_that_left();
  void look_for_replaced_ranks();
  // By rank; empty if nothing is known.
  std::vector<rank_state> rank_states() const;
  std::string unfinished_ranks(bool stopped) const;
  void ask_for_state(const std::string& reason, const report_server::receiver& then);
  void serve_reports();
  std::string state_of(int rank) const;
  bool has_connected_ranks() const {
    return server_ != nullptr && server_->count(boot::tcp_server::rank_state::connected) > 0;
  }
  void time_out();
  // "rank 3 on host"; in a job of several programs "rank 3 (program) on host".
  std::string name_of(int rank) const {
    return base::StrCat("rank ", rank,
                        plan_.programs.size() == 1
                            ? ""
                            : base::StrCat(" (", program_of(plan_.programs, rank).command[0], ")"),
                        " on ", rank_group_->host_of(rank));
  }
  void begin_ending();
  void end_by(io::steady::time_point when);
  void forward(int signal);
  void finish();

  void failed(int code, const std::string& what) override;
  void rank_ended(int rank, int status) override;
  void rank_stopped(int rank, bool stopped) override;
  void rank_output(int rank, int stream, std::string_view bytes) override;
  size_t output_room() const override { return output_.full() ? 0 : SIZE_MAX; }
  void message(const std::string& line) override { say(line); }

  const launch_options& options_;
  job_plan plan_;
  io::event_loop loop_;
  job_output output_;
  std::unique_ptr<boot::tcp_server> server_;
  io::event_loop::id server_watched_ = 0;
  std::unique_ptr<state_query> query_;
  std::unique_ptr<report_server> report_server_;  // null: none
  std::vector<bool> exited_;                      // by rank: with exit code 0, and still connected
  std::vector<bool> stopped_;                     // by rank
  std::unique_ptr<rank_group> rank_group_;
  std::unique_ptr<terminal_input>
      input_;  // null: the rank reads the standard input of lcrun itself, or none
  int signals_ = -1;
  int interrupts_ = 0;
  bool abort_seen_ = false;
  io::event_loop::id kill_timer_ = 0;      // the end of the grace
  io::event_loop::id look_timer_ = 0;      // until the next look_for_ranks_that_left
  io::event_loop::id replaced_timer_ = 0;  // of look_for_replaced_ranks
  std::string boot_dir_;                   // with --boot file
  std::optional<int> exit_code_;           // of the first failure
};

// Start.

bool job::prepare() {
  sigset_t watched;
  sigemptyset(&watched);
  sigaddset(&watched, SIGCHLD);
  sigaddset(&watched, report_signal);
  for (int signal : forwarded_signals) sigaddset(&watched, signal);
  sigprocmask(SIG_BLOCK, &watched, nullptr);
  signal(SIGPIPE, SIG_IGN);
  signals_ = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
  const base::Status ready = signals_ < 0 ? base::ErrnoToStatus(errno, "signalfd") : loop_.status();
  if (!ready.ok()) {
    say(base::StrCat("can't start: ", ready.message()));
    return false;
  }
  raise_file_limit();
  loop_.watch(signals_, POLLIN, [this] { read_signals(); });
  return prepare_rank_group();
}

bool job::prepare_rank_group() {
  if (!plan_.helpers) {
    local_rank_group_options how;
    if (options_.boot == bootstrap_kind::file) {
      how.boot_dir = base::StrCat(temporary_directory(), "/lcrun-", plan_.id);
      boot_dir_ = how.boot_dir;
      plan_.own.push_back(base::StrCat("LCI_BOOT_DIR=", boot_dir_));
    } else {
      if (!prepare_rendezvous("127.0.0.1:0")) return false;
      // These replace the variables of another job in the environment.
      plan_.own.push_back(base::StrCat("LCI_BOOT_ADDR=", server_->address()));
      plan_.own.push_back(base::StrCat("LCI_BOOT_TOKEN=", plan_.token));
    }
    how.verbose = options_.verbose;
    how.output_dir = options_.output_dir;
    how.output = !options_.output_dir.empty() ? local_rank_group_options::capture::files
                 : output_format().by_line()  ? local_rank_group_options::capture::pipes
                                              : local_rank_group_options::capture::none;
    if (plan_.stdin_rank >= 0 && isatty(STDIN_FILENO)) {
      auto input = terminal_input::make(&loop_);
      if (!input.ok()) {
        say(std::string(input.status().message()));
        return false;
      }
      input_ = *std::move(input);
      how.stdin_fd = input_->rank_end();
    }
    rank_group_ = make_local_rank_group(&loop_, this, own_assignment(plan_, options_), how);
    return true;
  }
  const base::StatusOr<reachable> at = find_reachable(options_.interface);
  if (!at.ok()) {
    say(std::string(at.status().message()));
    return false;
  }
  if (const base::Status files = output_.make_files(plan_.ranks); !files.ok()) {
    say(std::string(files.message()));
    return false;
  }
  if (!prepare_rendezvous(base::StrCat(at->bind, ":0"))) return false;
  const std::string& address = server_->address();
  auto made = make_remote_rank_group(&loop_, this, options_, plan_, *at,
                                     address.substr(address.rfind(':') + 1));
  if (!made.ok()) {
    say(std::string(made.status().message()));
    return false;
  }
  rank_group_ = *std::move(made);
  return true;
}

bool job::prepare_rendezvous(const std::string& bind) {
  boot::tcp_server::options serve;
  serve.bind_address = bind;
  serve.size = plan_.ranks;
  serve.token = plan_.token;
  serve.job_id = plan_.id;
  auto server = boot::tcp_server::listen(serve);
  if (!server.ok()) {
    say(base::StrCat("can't serve the rendezvous: ", server.status().ToString()));
    return false;
  }
  server_ = *std::move(server);
  server_watched_ = loop_.watch(server_->poll_fd(), POLLIN, [this] { look_at_rendezvous(); });
  query_ = std::make_unique<state_query>(
      &loop_, server_.get(),
      state_query::job{plan_.ranks, [this](int rank) { return state_of(rank); },
                       [](const observe::job_report& report) { show(&report, ""); }});
  return true;
}

int job::run() {
  if (!prepare()) return start_exit_code;
  if (options_.verbose) say(describe(plan_, options_));
  if (options_.timeout.count() > 0) {
    loop_.at(io::steady::now() + options_.timeout, [this] { time_out(); });
  }
  warn_of_oversubscription();
  serve_reports();
  rank_group_->start();
  if (input_ != nullptr) input_->started();
  while (rank_group_->busy()) {
    output_.before_wait();
    rank_group_->before_wait();
    if (input_ != nullptr) input_->before_wait();
    loop_.run_once();
  }
  finish();
  return exit_code_.value_or(0);
}

// A group on several hosts warns when the hosts have reported the number of their processors.
void job::warn_of_oversubscription() {
  if (plan_.helpers || options_.oversubscribe) return;
  const std::string host = oversubscription(
      {{plan_.hosts[0].name, plan_.ranks, static_cast<int>(allowed_processors().size())}});
  if (!host.empty()) say(base::StrCat("warning: ", host));
}

// Events.

void job::rank_output(int rank, int stream, std::string_view bytes) {
  output_.add(rank, rank_group_->host_of(rank), stream, bytes);
}

void job::read_signals() {
  signalfd_siginfo info;
  bool child = false;
  while (read(signals_, &info, sizeof(info)) == sizeof(info)) {
    if (info.ssi_signo == SIGCHLD) {
      child = true;
    } else if (info.ssi_signo == report_signal && has_connected_ranks()) {
      ask_for_state("SIGUSR1 to lcrun",
                    [](const auto* report, const auto& why) { show(report, why); });
    } else {
      forward(static_cast<int>(info.ssi_signo));
    }
  }
  while (child) {
    int status = 0;
    const pid_t pid = waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED);
    if (pid < 0 && errno == EINTR) continue;
    if (pid <= 0) return;
    if (WIFSTOPPED(status) || WIFCONTINUED(status)) {
      rank_group_->child_stopped(pid, WIFSTOPPED(status));
    } else {
      rank_group_->child_ended(pid, status);
    }
  }
}

void job::rank_ended(int rank, int status) {
  if (options_.verbose) {
    say(base::StrCat(name_of(rank), " ended: ", describe_status(status)));
  }
  // First handle the messages that the rank has sent before its end, because an abort has a reason
  // and an exit code has none.
  look_at_rendezvous();
  if (status != 0) {
    failed(exit_code_of(status),
           base::StrCat(name_of(rank), " failed first: ", describe_status(status)));
    return;
  }
  exited_[static_cast<size_t>(rank)] = true;
  look_for_ranks_that_left();
}

// The end of a rank on another host may be reported before the end of its connection.
void job::look_for_ranks_that_left() {
  if (exit_code_) return;
  const std::vector<rank_state> states = rank_states();
  const bool is_awaited =
      std::find(states.begin(), states.end(), rank_state::connected) != states.end();
  for (size_t i = 0; i < states.size() && i < exited_.size(); ++i) {
    if (!exited_[i] || states[i] == rank_state::connected) continue;
    // Before any rank has joined, the program may not use the library at all.
    if (states[i] == rank_state::absent && !is_awaited) continue;
    exited_[i] = false;
    if (states[i] == rank_state::finished) continue;
    const std::string what =
        states[i] == rank_state::lost
            ? "without g_runtime_fina (global_finalize) while other ranks go on"
            : "before g_runtime_init (global_initialize), in which other ranks "
              "wait for it";
    const int rank = static_cast<int>(i);
    if (server_ != nullptr) {
      server_->abort(rank, base::StrCat("it ended ", what));
      server_->step();
    }
    failed(start_exit_code, base::StrCat(name_of(rank), " ended, with exit code 0, ", what));
    return;
  }
  // With --boot file nobody tells that a rank has joined.
  const bool is_open = std::find(exited_.begin(), exited_.end(), true) != exited_.end();
  if (server_ == nullptr && is_open && look_timer_ == 0) {
    look_timer_ = loop_.at(io::steady::now() + look_period, [this] {
      look_timer_ = 0;
      look_for_ranks_that_left();
    });
  }
}

// A rank whose connection ends without g_runtime_fina mostly ends at that moment, and its end is
// reported. A rank that executes another program goes on, and other ranks would wait for it.
void job::look_for_replaced_ranks() {
  if (exit_code_ || replaced_timer_ != 0) return;
  for (int rank = 0; rank < plan_.ranks; ++rank) {
    const auto is_replaced = [this, rank] {
      return server_->state(rank) == boot::tcp_server::rank_state::lost &&
             rank_group_->is_running(rank);
    };
    if (!is_replaced()) continue;
    replaced_timer_ = loop_.at(io::steady::now() + time_to_end, [this, rank, is_replaced] {
      replaced_timer_ = 0;
      if (!is_replaced()) return look_for_replaced_ranks();
      const char* const what =
          "has left the job without g_runtime_fina (global_finalize), and runs on: it has executed "
          "another program, or closed descriptors that are not its own";
      server_->abort(rank, base::StrCat("it ", what));
      failed(start_exit_code, base::StrCat(name_of(rank), " ", what));
    });
    return;
  }
}

std::vector<rank_state> job::rank_states() const {
  std::vector<rank_state> states;
  if (server_ == nullptr) {
    return boot_dir_.empty() ? states : boot::look_at_file_job(boot_dir_);
  }
  for (size_t i = 0; i < exited_.size(); ++i) states.push_back(server_->state(static_cast<int>(i)));
  return states;
}

void job::look_at_rendezvous() {
  if (server_ == nullptr) return;
  server_->step();
  query_->look();
  look_for_ranks_that_left();
  look_for_replaced_ranks();
  const auto report = server_->aborted();
  if (!report || abort_seen_) return;
  abort_seen_ = true;
  // Rank -1: the server itself.
  const std::string who =
      report->rank < 0 ? "" : base::StrCat(name_of(report->rank), " aborted the job: ");
  failed(start_exit_code, base::StrCat(who, printable(report->reason)));
}

void job::rank_stopped(int rank, bool stopped) {
  stopped_[static_cast<size_t>(rank)] = stopped;
  if (options_.verbose) {
    say(base::StrCat(name_of(rank), stopped ? " is stopped" : " is continued"));
  }
}

// The ranks that run, or those that are stopped, such as "ranks 0-2, 5 on a; rank 7 on b".
std::string job::unfinished_ranks(bool stopped) const {
  std::string text;
  for (const host_plan& host : plan_.hosts) {
    std::vector<int> ranks;
    for (const int rank : host.ranks) {
      if (rank_group_->is_running(rank) && stopped_[static_cast<size_t>(rank)] == stopped) {
        ranks.push_back(rank);
      }
    }
    if (ranks.empty()) continue;
    base::StrAppend(&text, text.empty() ? "" : "; ", base::rank_list(ranks), " on ",
                    rank_group_->host_of(ranks[0]));
  }
  return text;
}

void job::time_out() {
  read_signals();  // some ranks may just have ended or stopped
  const std::string running = unfinished_ranks(false);
  const std::string stopped = unfinished_ranks(true);
  std::string what = "--timeout: not all hosts were there";
  if (!running.empty()) what = base::StrCat("--timeout: still running: ", running);
  if (!stopped.empty()) {
    what = base::StrCat(running.empty() ? "--timeout: " : base::StrCat(what, "; "),
                        "stopped (by SIGSTOP or SIGTSTP): ", stopped);
  }
  ask_for_state(what, [this, what](const auto* report, const auto& why) {
    // A job that does not use LCI has no state.
    if (report != nullptr || query_ == nullptr) show(report, why);
    failed(timeout_exit_code, what);
  });
}

// Calls `then` with the report, or with the reason why no rank can be asked.
void job::ask_for_state(const std::string& reason, const report_server::receiver& then) {
  if (query_ == nullptr) {
    then(nullptr, base::StrCat(reason,
                               ": no state of the ranks: with --boot file, lcrun is not "
                               "connected"));
    return;
  }
  query_->ask(reason, [then](const observe::job_report* report) {
    then(report, "no rank uses LCI now: a rank can be asked from g_runtime_init to g_runtime_fina");
  });
}

// Answers `lcrun --report`. A job runs without it, too.
void job::serve_reports() {
  const size_t programs = plan_.programs.size();
  const std::string title =
      base::StrCat(plan_.ranks, plan_.ranks == 1 ? " rank of " : " ranks of ",
                   base::StrJoin(plan_.programs[0].command, " "),
                   programs == 1 ? "" : base::StrCat(" and ", programs - 1, " more"));
  base::StatusOr<report_directory> directory = report_directory::open(options_.report_dir);
  if (directory.ok()) {
    auto server = report_server::make(
        &loop_, *std::move(directory),
        {plan_.id, title,
         [this](const report_server::receiver& then) { ask_for_state("lcrun --report", then); }});
    if (server.ok()) {
      report_server_ = *std::move(server);
      return;
    }
    directory = server.status();
  }
  if (options_.verbose || !options_.report_dir.empty()) {
    say(base::StrCat("warning: no socket for --report: ", directory.status().message()));
  }
}

std::string job::state_of(int rank) const {
  if (!rank_group_->is_running(rank)) return "has ended";
  if (stopped_[static_cast<size_t>(rank)]) return "is stopped (by SIGSTOP or SIGTSTP)";
  switch (server_->state(rank)) {
    case boot::tcp_server::rank_state::absent:
      return "runs, and has not called g_runtime_init yet";
    case boot::tcp_server::rank_state::connected:
      return server_->count(boot::tcp_server::rank_state::absent) > 0
                 ? "waits in g_runtime_init for the ranks that have not called it"
                 : "does not answer";
    case boot::tcp_server::rank_state::finished:
      return "runs, and has called g_runtime_fina";
    case boot::tcp_server::rank_state::lost:
      return "has lost its connection to lcrun";
  }
  return "";
}

// End.

// Only the first failure counts, because later ones are usually its consequences.
void job::failed(int code, const std::string& what) {
  if (exit_code_) return;
  exit_code_ = code;
  say(what);
  begin_ending();
}

void job::begin_ending() {
  rank_group_->signal(SIGTERM);
  if (kill_timer_ == 0) end_by(io::steady::now() + options_.grace);
}

void job::end_by(io::steady::time_point when) {
  loop_.cancel(kill_timer_);
  kill_timer_ = loop_.at(when, [this] { rank_group_->signal(SIGKILL); });
}

void job::forward(int signal) {
  if (signal == SIGTSTP) {
    rank_group_->signal(SIGTSTP);
    raise(SIGSTOP);
    return;
  }
  const bool ends = signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
  if (ends && ++interrupts_ > 1) {
    rank_group_->signal(SIGKILL);
    return;
  }
  rank_group_->signal(signal);
  if (!ends) return;
  if (options_.verbose) say(base::StrCat("forwarded signal ", signal));
  end_by(io::steady::now() + options_.grace);
}

// Ends the processes that the ranks have left behind, and writes the rest of the output.
void job::finish() {
  rank_group_->finish(exit_code_.value_or(0));
  output_.finish();
}

}  // namespace

int run_job(const launch_options& options, const job_plan& plan) {
  return job(options, plan).run();
}

}  // namespace lci::launcher
