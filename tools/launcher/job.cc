#include "tools/launcher/job.h"

#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lci/boot/tcp_server.h"
#include "tools/launcher/guard.h"
#include "tools/launcher/output.h"
#include "tools/launcher/process.h"

namespace lci::launcher {
namespace {

using clock = std::chrono::steady_clock;

// Forwarded to the ranks; SIGCHLD is for ourselves.
constexpr int forwarded_signals[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
                                     SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};

constexpr int timeout_exit_code = 124;  // as timeout(1)
constexpr int start_exit_code = 1;

void say(const std::string& line) {
  const std::string text = absl::StrCat("lcrun: ", line, "\n");
  if (write(STDERR_FILENO, text.data(), text.size()) < 0) return;
}

std::string errno_text() { return std::strerror(errno); }

// A pipe or file that a rank writes to, seen from here.
struct stream {
  int fd = -1;
  line_splitter lines;
};

struct rank_process {
  pid_t pid = -1;  // -1: has not been started, or has ended
};

class job {
 public:
  job(const launch_options& options, job_plan plan) : options_(options), plan_(std::move(plan)) {}
  int run();

 private:
  bool prepare();
  bool prepare_rendezvous();
  bool start_ranks();
  bool open_streams(const rank_plan& rank, rank_streams* streams);
  void loop();
  int poll_timeout() const;
  void wait_for_events();
  void read_signals();
  void reap();
  void rank_ended(int rank, int status);
  void look_at_rendezvous();
  void look_at_clock();
  void read_stream(stream* from);
  void fail(int code, const std::string& what);
  void begin_ending();
  void signal_ranks(int signal);
  void forward(int signal);
  int running() const;
  void finish();
  void close_streams();

  const launch_options& options_;
  job_plan plan_;
  std::vector<rank_process> ranks_;
  std::vector<stream> streams_;
  sink out_{STDOUT_FILENO};
  sink error_{STDERR_FILENO};
  std::unique_ptr<boot::tcp_server> server_;
  std::string boot_dir_;
  guard guard_;
  int signals_ = -1;
  int null_ = -1;
  int interrupts_ = 0;
  bool abort_seen_ = false;
  std::optional<clock::time_point> deadline_;  // of --timeout
  std::optional<clock::time_point> kill_at_;   // the end of the grace
  std::optional<int> exit_code_;               // of the first failure
};

// ---- start
// ---------------------------------------------------------------------------------------

bool job::prepare() {
  sigset_t watched;
  sigemptyset(&watched);
  sigaddset(&watched, SIGCHLD);
  for (int signal : forwarded_signals) sigaddset(&watched, signal);
  sigprocmask(SIG_BLOCK, &watched, nullptr);
  signal(SIGPIPE, SIG_IGN);
  signals_ = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
  null_ = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (signals_ < 0 || null_ < 0) {
    say(absl::StrCat("can't start: ", errno_text()));
    return false;
  }
  // What ranks leave behind becomes ours.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  if (!guard_.start(plan_.id)) {
    say(absl::StrCat("can't start the guard: ", errno_text()));
    return false;
  }
  if (!options_.output_dir.empty() && mkdir(options_.output_dir.c_str(), 0777) != 0 &&
      errno != EEXIST) {
    say(absl::StrCat("--output-dir ", options_.output_dir, ": ", errno_text()));
    return false;
  }
  return prepare_rendezvous();
}

bool job::prepare_rendezvous() {
  if (options_.boot == bootstrap_kind::file) {
    const char* tmp = std::getenv("TMPDIR");
    boot_dir_ = absl::StrCat(tmp != nullptr && *tmp != 0 ? tmp : "/tmp", "/lcrun-XXXXXX");
    if (mkdtemp(boot_dir_.data()) == nullptr) {
      say(absl::StrCat("can't make the job's directory ", boot_dir_, ": ", errno_text()));
      boot_dir_.clear();
      return false;
    }
    plan_.environment.push_back(absl::StrCat("LCI_BOOT_DIR=", boot_dir_));
    return true;
  }
  boot::tcp_server::options serve;
  serve.bind_address = "127.0.0.1:0";
  serve.size = options_.ranks;
  serve.token = plan_.token;
  serve.job_id = plan_.id;
  auto server = boot::tcp_server::listen(serve);
  if (!server.ok()) {
    say(absl::StrCat("can't serve the rendezvous: ", server.status().ToString()));
    return false;
  }
  server_ = *std::move(server);
  plan_.environment.push_back(absl::StrCat("LCI_BOOT_ADDR=", server_->address()));
  plan_.environment.push_back(absl::StrCat("LCI_BOOT_TOKEN=", plan_.token));
  return true;
}

// What goes through us is read from a pipe; everything else the ranks write themselves.
bool job::open_streams(const rank_plan& rank, rank_streams* streams) {
  streams->in = rank.rank == options_.stdin_rank ? -1 : null_;
  const auto open_one = [&](const char* name, sink* to, int* rank_end) {
    if (!options_.output_dir.empty()) {
      const std::string path = absl::StrCat(options_.output_dir, "/rank.", rank.rank, ".", name);
      *rank_end = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
      if (*rank_end < 0) say(absl::StrCat(path, ": ", errno_text()));
      return *rank_end >= 0;
    }
    if (!options_.label) return true;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
      say(absl::StrCat("no pipe for rank ", rank.rank, ": ", errno_text()));
      return false;
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    streams_.push_back({ends[0], line_splitter(to, absl::StrCat("[", rank.rank, "] "))});
    *rank_end = ends[1];
    return true;
  };
  return open_one("stdout", &out_, &streams->out) && open_one("stderr", &error_, &streams->error);
}

bool job::start_ranks() {
  ranks_.resize(plan_.ranks.size());
  for (const rank_plan& rank : plan_.ranks) {
    rank_streams streams;
    bool started = open_streams(rank, &streams);
    if (started) {
      const absl::StatusOr<pid_t> pid = spawn(plan_, rank, streams);
      started = pid.ok();
      if (started) {
        ranks_[static_cast<size_t>(rank.rank)].pid = *pid;
      } else {
        say(std::string(pid.status().message()));
      }
    }
    if (streams.out >= 0) close(streams.out);
    if (streams.error >= 0) close(streams.error);
    if (!started) return false;
  }
  return true;
}

int job::run() {
  if (!prepare()) {
    guard_.dismiss();
    return start_exit_code;
  }
  if (options_.verbose) say(describe(plan_));
  if (options_.timeout.count() > 0) deadline_ = clock::now() + options_.timeout;
  if (!start_ranks()) {
    exit_code_ = start_exit_code;
    begin_ending();
  }
  loop();
  finish();
  return exit_code_.value_or(0);
}

// ---- the loop
// ------------------------------------------------------------------------------------

int job::running() const {
  return static_cast<int>(
      std::count_if(ranks_.begin(), ranks_.end(), [](const rank_process& r) { return r.pid > 0; }));
}

void job::loop() {
  reap();
  while (running() > 0) wait_for_events();
}

int job::poll_timeout() const {
  std::optional<clock::time_point> next = deadline_;
  if (kill_at_ && (!next || *kill_at_ < *next)) next = kill_at_;
  if (!next) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*next - clock::now());
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, 1 << 30));
}

void job::wait_for_events() {
  std::vector<pollfd> watched = {{signals_, POLLIN, 0},
                                 {server_ != nullptr ? server_->poll_fd() : -1, POLLIN, 0},
                                 {out_.empty() ? -1 : out_.fd(), POLLOUT, 0},
                                 {error_.empty() ? -1 : error_.fd(), POLLOUT, 0}};
  const size_t first_stream = watched.size();
  const bool room = !out_.full() && !error_.full();
  for (const stream& s : streams_) watched.push_back({room ? s.fd : -1, POLLIN, 0});
  if (poll(watched.data(), watched.size(), poll_timeout()) < 0 && errno != EINTR) {
    fail(start_exit_code, absl::StrCat("poll: ", errno_text()));
  }
  if (watched[2].revents != 0) out_.write_some();
  if (watched[3].revents != 0) error_.write_some();
  for (size_t i = 0; i < streams_.size(); ++i) {
    if (watched[first_stream + i].revents != 0) read_stream(&streams_[i]);
  }
  if (watched[1].revents != 0) look_at_rendezvous();
  if (watched[0].revents != 0) read_signals();
  look_at_clock();
}

void job::read_stream(stream* from) {
  char block[65536];
  const ssize_t n = read(from->fd, block, sizeof(block));
  if (n > 0) {
    from->lines.add(absl::string_view(block, static_cast<size_t>(n)));
  } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
    from->lines.finish();
    close(from->fd);
    from->fd = -1;
  }
}

void job::read_signals() {
  signalfd_siginfo info;
  bool child = false;
  while (read(signals_, &info, sizeof(info)) == sizeof(info)) {
    if (info.ssi_signo == SIGCHLD) {
      child = true;
    } else {
      forward(static_cast<int>(info.ssi_signo));
    }
  }
  if (child) reap();
}

void job::reap() {
  for (;;) {
    int status = 0;
    const pid_t pid = waitpid(-1, &status, WNOHANG);
    if (pid < 0 && errno == EINTR) continue;
    // The guard is a child too, so there is always one while it runs.
    if (pid <= 0) return;
    for (size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (ranks_[rank].pid == pid) rank_ended(static_cast<int>(rank), status);
    }
  }
}

void job::rank_ended(int rank, int status) {
  ranks_[static_cast<size_t>(rank)].pid = -1;
  if (options_.verbose) say(absl::StrCat("rank ", rank, " ended: ", describe_status(status)));
  // What the rank told the rendezvous before it ended comes first: an abort says more than an exit
  // code.
  look_at_rendezvous();
  if (status != 0) {
    fail(exit_code_of(status), absl::StrCat("rank ", rank, " on ", plan_.host,
                                            " failed first: ", describe_status(status)));
    return;
  }
  if (server_ != nullptr && running() > 0 &&
      server_->state(rank) == boot::tcp_server::rank_state::lost) {
    server_->abort(rank, "it ended without g_runtime_fina while other ranks go on");
    server_->step();
    fail(start_exit_code, absl::StrCat("rank ", rank, " on ", plan_.host,
                                       " ended, with exit code 0, without g_runtime_fina "
                                       "(global_finalize) while other ranks go on"));
  }
}

void job::look_at_rendezvous() {
  if (server_ == nullptr) return;
  server_->step();
  const auto report = server_->aborted();
  if (!report || abort_seen_) return;
  abort_seen_ = true;
  fail(start_exit_code, absl::StrCat("rank ", report->rank, " on ", plan_.host,
                                     " aborted the job: ", report->reason));
}

void job::look_at_clock() {
  const auto now = clock::now();
  if (deadline_ && now >= *deadline_) {
    deadline_.reset();
    std::vector<int> left;
    for (size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (ranks_[rank].pid > 0) left.push_back(static_cast<int>(rank));
    }
    fail(timeout_exit_code, absl::StrCat("--timeout: still running: rank ",
                                         absl::StrJoin(left, ", "), " on ", plan_.host));
  }
  if (kill_at_ && now >= *kill_at_) {
    kill_at_.reset();
    signal_ranks(SIGKILL);
  }
}

// ---- end
// ------------------------------------------------------------------------------------------

// Only the first failure counts: what follows is mostly its consequence.
void job::fail(int code, const std::string& what) {
  if (exit_code_) return;
  exit_code_ = code;
  say(what);
  begin_ending();
}

void job::begin_ending() {
  signal_ranks(SIGTERM);
  signal_ranks(SIGCONT);  // one that is stopped would not hear it
  if (!kill_at_) kill_at_ = clock::now() + options_.grace;
}

void job::signal_ranks(int signal) {
  for (const rank_process& rank : ranks_) {
    if (rank.pid > 0) kill(-rank.pid, signal);
  }
}

void job::forward(int signal) {
  if (signal == SIGTSTP) {
    signal_ranks(SIGTSTP);
    raise(SIGSTOP);
    return;
  }
  const bool ends = signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
  if (ends && ++interrupts_ > 1) {
    signal_ranks(SIGKILL);
    return;
  }
  signal_ranks(signal);
  if (ends) {
    if (options_.verbose) say(absl::StrCat("forwarded signal ", signal));
    kill_at_ = clock::now() + options_.grace;
  }
}

// The ranks have ended. What they left behind ends too, and what they wrote is written.
void job::finish() {
  guard_.dismiss();
  int status = 0;
  pid_t pid;
  do {
    pid = waitpid(-1, &status, WNOHANG);
  } while (pid > 0 || (pid < 0 && errno == EINTR));
  if (pid == 0) {  // children that are not ours: left behind by ranks
    if (options_.verbose) say("ending processes that the ranks have left behind");
    end_marked(plan_.id);
    while (waitpid(-1, &status, 0) > 0 || errno == EINTR) {
    }
  }
  close_streams();
  if (!boot_dir_.empty()) {
    nftw(
        boot_dir_.c_str(),
        [](const char* path, const struct stat*, int, struct FTW*) { return remove(path); }, 8,
        FTW_DEPTH | FTW_PHYS);
  }
}

// Nobody writes any more, so the pipes hold all that there is.
void job::close_streams() {
  for (stream& s : streams_) {
    while (s.fd >= 0) {
      pollfd ready{s.fd, POLLIN, 0};
      if (poll(&ready, 1, 0) <= 0) break;
      read_stream(&s);
    }
    if (s.fd >= 0) {
      s.lines.finish();
      close(s.fd);
      s.fd = -1;
    }
  }
  for (sink* to : {&out_, &error_}) {
    while (!to->empty()) {
      pollfd ready{to->fd(), POLLOUT, 0};
      if (poll(&ready, 1, -1) < 0 && errno != EINTR) break;
      to->write_some();
    }
  }
}

}  // namespace

int run_job(const launch_options& options, const job_plan& plan) {
  return job(options, plan).run();
}

}  // namespace lci::launcher
