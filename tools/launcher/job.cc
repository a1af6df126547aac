#include "tools/launcher/job.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lci/base/error_text.h"
#include "lci/base/interfaces.h"
#include "lci/base/rank_list.h"
#include "lci/base/status.h"
#include "lci/base/strings.h"
#include "lci/io/event_loop.h"
#include "tools/launcher/addresses.h"
#include "tools/launcher/binding.h"
#include "tools/launcher/job_bootstrap.h"
#include "tools/launcher/job_output.h"
#include "tools/launcher/local_rank_group.h"
#include "tools/launcher/output.h"
#include "tools/launcher/plan.h"
#include "tools/launcher/process.h"
#include "tools/launcher/process_signals.h"
#include "tools/launcher/rank_group.h"
#include "tools/launcher/remote_rank_group.h"
#include "tools/launcher/report_directory.h"
#include "tools/launcher/report_server.h"
#include "tools/launcher/standard_input.h"

namespace lci::launcher {
namespace {

// Requests a report of what the ranks wait for; forwarded if no rank uses the library.
constexpr int report_signal = SIGUSR1;

constexpr int timeout_exit_code = 124;  // as timeout(1)
constexpr int start_exit_code = 1;
constexpr int lost_output_exit_code = 1;

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
  const char* configured = std::getenv("TMPDIR");
  const std::string dir = configured != nullptr && *configured != 0 ? configured : "/tmp";
  char* absolute = realpath(dir.c_str(), nullptr);
  const std::string path = absolute != nullptr ? absolute : dir;
  std::free(absolute);
  return path;
}

class job final : rank_group::events, job_bootstrap::events {
 public:
  job(const launch_options& options, job_plan plan)
      : options_(options),
        plan_(std::move(plan)),
        signals_(
            &loop_, [this](int signal) { signaled(signal); },
            [this](pid_t pid, int status) { rank_group_->child_changed(pid, status); }),
        output_(&loop_, output_format(),
                [this](const std::string& where, int error) { output_lost(where, error); }),
        bootstrap_(&loop_, this, &plan_),
        stopped_(static_cast<size_t>(plan_.ranks)) {}
  int run();

 private:
  job_output::format output_format() const {
    return {options_.output_dir, options_.label, options_.timestamp, plan_.helpers};
  }
  base::Status prepare();
  base::Status prepare_local_ranks();
  base::Status prepare_remote_ranks();
  void warn_of_oversubscription();
  void signaled(int signal);
  std::string unfinished_ranks(bool stopped) const;
  void serve_reports();
  void time_out();
  void end_by(io::steady::time_point when);
  void forward(int signal);
  void output_lost(const std::string& where, int error);
  void finish();

  void failed(int code, const std::string& what) override;
  void rank_ended(int rank, int status) override;
  void rank_stopped(int rank, bool stopped) override;
  void rank_output(int rank, int stream, std::string_view bytes) override;
  size_t output_room() const override { return output_.full() ? 0 : SIZE_MAX; }
  void message(const std::string& line) override { say(line); }
  bool is_running(int rank) const override { return rank_group_->is_running(rank); }
  bool is_stopped(int rank) const override { return stopped_[static_cast<size_t>(rank)]; }
  void show(const observe::job_report& report) override { launcher::show(&report, ""); }
  // "rank 3 on host"; in a job of several programs "rank 3 (program) on host".
  std::string name_of(int rank) const override {
    return base::StrCat("rank ", rank,
                        plan_.programs.size() == 1
                            ? ""
                            : base::StrCat(" (", program_of(plan_.programs, rank).command[0], ")"),
                        " on ", rank_group_->host_of(rank));
  }

  const launch_options& options_;
  job_plan plan_;
  io::event_loop loop_;
  process_signals signals_;
  job_output output_;
  job_bootstrap bootstrap_;
  std::unique_ptr<report_server> report_server_;  // null: none
  std::vector<bool> stopped_;                     // by rank
  std::unique_ptr<rank_group> rank_group_;
  // Null: the rank reads the standard input of lcrun itself, or none.
  std::unique_ptr<rank_input> input_;
  std::unique_ptr<standard_input> terminal_;  // for input_
  bool has_lost_output_ = false;
  int interrupts_ = 0;
  io::event_loop::id time_limit_ = 0;  // of --timeout
  io::event_loop::id kill_timer_ = 0;  // the end of the grace
  std::optional<int> exit_code_;       // of the first failure
};

// Start.

base::Status job::prepare() {
  const base::Status ready =
      signals_.start({report_signal, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR2, SIGTSTP, SIGCONT});
  if (!ready.ok()) {
    return base::Status(ready.code(), base::StrCat("can't start: ", ready.message()));
  }
  raise_file_limit();
  return plan_.helpers ? prepare_remote_ranks() : prepare_local_ranks();
}

base::Status job::prepare_local_ranks() {
  local_rank_group_options how;
  std::string boot_address;
  if (options_.boot == bootstrap_kind::file) {
    how.boot_dir = base::StrCat(temporary_directory(), "/lcrun-", plan_.id);
    bootstrap_.use_directory(how.boot_dir);
    plan_.own.push_back(base::StrCat("LCI_BOOT_DIR=", how.boot_dir));
  } else {
    if (base::is_loopback_down()) {
      return base::UnavailableError(
          "the ranks would meet at 127.0.0.1, but the interface lo is not up here; give --boot "
          "file, or run: ip link set lo up");
    }
    if (base::Status s = bootstrap_.listen("127.0.0.1:0"); !s.ok()) return s;
    // These replace the variables of another job in the environment.
    boot_address = bootstrap_.address();
    plan_.own.push_back(base::StrCat("LCI_BOOT_TOKEN=", plan_.token));
  }
  how.verbose = options_.verbose;
  how.output_dir = options_.output_dir;
  how.output = !options_.output_dir.empty() ? local_rank_group_options::capture::files
               : output_format().by_line()  ? local_rank_group_options::capture::pipes
                                            : local_rank_group_options::capture::none;
  if (plan_.stdin_rank >= 0 && isatty(STDIN_FILENO)) {
    auto input = rank_input::make(&loop_, [](size_t) {});
    if (!input.ok()) return input.status();
    input_ = *std::move(input);
    terminal_ = std::make_unique<standard_input>(
        &loop_, [this](std::string_view bytes) { input_->add(bytes); });
    how.stdin_fd = input_->rank_end();
  }
  rank_group_ =
      make_local_rank_group(&loop_, this, assignment_of(plan_, options_, 0, boot_address), how);
  return base::OkStatus();
}

base::Status job::prepare_remote_ranks() {
  const base::StatusOr<io::reachable> at = find_reachable(options_.interface);
  if (!at.ok()) return at.status();
  if (base::Status files = output_.make_files(plan_.ranks); !files.ok()) return files;
  if (base::Status s = bootstrap_.listen(base::StrCat(at->bind, ":0")); !s.ok()) return s;
  const std::string& address = bootstrap_.address();
  auto made = make_remote_rank_group(&loop_, this, options_, plan_, *at,
                                     address.substr(address.rfind(':') + 1));
  if (!made.ok()) return made.status();
  rank_group_ = *std::move(made);
  return base::OkStatus();
}

int job::run() {
  if (const base::Status ready = prepare(); !ready.ok()) {
    say(ready.message());
    return start_exit_code;
  }
  if (options_.verbose) {
    std::string plan = describe(plan_, options_);
    plan.pop_back();  // say() ends the line
    say(plan);
  }
  if (options_.timeout.count() > 0) {
    time_limit_ = loop_.at(io::steady::now() + options_.timeout, [this] { time_out(); });
  }
  warn_of_oversubscription();
  serve_reports();
  rank_group_->start();
  if (input_ != nullptr) input_->started();
  while (rank_group_->busy()) {
    rank_group_->before_wait();
    if (terminal_ != nullptr) terminal_->before_wait(input_->wants_more() ? SIZE_MAX : 0);
    loop_.run_once();
  }
  finish();
  return exit_code_.value_or(has_lost_output_ ? lost_output_exit_code : 0);
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

// A rank that writes to a pipe without a reader gets SIGPIPE. The ranks write to lcrun instead, so
// that lcrun ends the job in the place of this signal.
void job::output_lost(const std::string& where, int error) {
  if (error != EPIPE) {
    has_lost_output_ = true;
    say(base::StrCat("can't write to ", where, ": ", base::error_text(error),
                     "; what the ranks write from here on is lost"));
  } else if (rank_group_->busy()) {
    failed(128 + SIGPIPE, base::StrCat("nobody reads ", where, " any more: the job ends"));
  }
}

void job::signaled(int signal) {
  if (signal == report_signal && bootstrap_.has_connected_ranks()) {
    bootstrap_.ask("SIGUSR1 to lcrun",
                   [](const auto* report, const auto& why) { launcher::show(report, why); });
  } else {
    forward(signal);
  }
}

void job::rank_ended(int rank, int status) {
  if (options_.verbose) {
    say(base::StrCat(name_of(rank), " ended: ", describe_status(status)));
  }
  // First handle the messages that the rank has sent before its end, because an abort has a reason
  // and an exit code has none.
  bootstrap_.look();
  if (status != 0) {
    failed(exit_code_of(status),
           base::StrCat(name_of(rank), " failed first: ", describe_status(status)));
    return;
  }
  bootstrap_.rank_exited(rank);
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
  signals_.receive_now();  // some ranks may just have ended or stopped
  if (!rank_group_->busy()) return;
  const std::string running = unfinished_ranks(false);
  const std::string stopped = unfinished_ranks(true);
  std::string what = "--timeout: not all hosts were there";
  if (!running.empty()) what = base::StrCat("--timeout: still running: ", running);
  if (!stopped.empty()) {
    what = base::StrCat(running.empty() ? "--timeout: " : base::StrCat(what, "; "),
                        "stopped (by SIGSTOP or SIGTSTP): ", stopped);
  }
  bootstrap_.ask(what, [this, what](const auto* report, const auto& why) {
    // A job that does not use LCI has no state.
    if (report != nullptr || !bootstrap_.serves()) launcher::show(report, why);
    failed(timeout_exit_code, what);
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
         [this](const report_server::receiver& then) { bootstrap_.ask("lcrun --report", then); }});
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

// End.

// Only the first failure counts, because later ones are usually its consequences.
void job::failed(int code, const std::string& what) {
  if (exit_code_) return;
  exit_code_ = code;
  bootstrap_.end();
  say(what);
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
  loop_.cancel(time_limit_);  // the ranks have ended in time
  rank_group_->finish(exit_code_.value_or(0));
  output_.finish();
}

}  // namespace

int run_job(const launch_options& options, const job_plan& plan) {
  return job(options, plan).run();
}

}  // namespace lci::launcher
