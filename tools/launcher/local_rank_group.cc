#include "tools/launcher/local_rank_group.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "lci/base/error_text.h"
#include "lci/base/strings.h"
#include "lci/io/unique_fd.h"
#include "tools/launcher/binding.h"
#include "tools/launcher/memory_kills.h"
#include "tools/launcher/orphan_reaper.h"
#include "tools/launcher/output.h"
#include "tools/launcher/pipe.h"
#include "tools/launcher/process.h"

namespace lci::launcher {
namespace {

constexpr int start_exit_code = 1;

std::string errno_text() { return base::error_text(errno); }

class local_rank_group final : public rank_group {
 public:
  local_rank_group(io::event_loop* loop, events* to, rank_assignment assigned,
                   const local_rank_group_options& options)
      : loop_(loop), to_(to), assigned_(std::move(assigned)), options_(options) {}
  ~local_rank_group() override {
    for (const stream& s : streams_) loop_->forget(s.watched);
  }

  void start() override;
  bool busy() const override { return running_ > 0; }
  bool is_running(int rank) const override {
    const auto found = std::lower_bound(assigned_.ranks.begin(), assigned_.ranks.end(), rank);
    if (found == assigned_.ranks.end() || *found != rank) return false;
    const auto local = static_cast<size_t>(found - assigned_.ranks.begin());
    return local < pids_.size() && pids_[local] > 0;
  }
  const std::string& host_of(int) const override { return assigned_.host; }
  void signal(int signal) override {
    std::vector<pid_t> running;
    for (const pid_t pid : pids_) {
      if (pid > 0) running.push_back(pid);
    }
    for (const pid_t pid : running) kill(-pid, signal);
    if (signal == SIGTERM) continue_stopped(running);  // a stopped rank would not handle it
  }
  void child_changed(pid_t pid, int status) override;
  void before_wait() override;
  void finish(int code) override;

 private:
  // The reading end of a pipe that a rank writes to.
  struct stream {
    int rank;
    int number;  // 1 or 2
    io::unique_fd fd;
    io::event_loop::id watched = 0;
  };

  bool prepare();
  bool start_rank(int local_rank);
  void explain_kill(int rank);
  bool open_stream(int rank, int number, io::unique_fd* rank_end);
  // Returns false at the end of the stream, and if no bytes are available now.
  bool read_stream(stream* from);
  void close_stream(stream* s);
  void end_left_behind();
  bool fail(const std::string& what) {
    to_->failed(start_exit_code, what);
    return false;
  }

  io::event_loop* const loop_;
  events* const to_;
  const rank_assignment assigned_;
  const local_rank_group_options options_;
  topology topology_;
  orphan_reaper orphan_reaper_;
  bool has_boot_dir_ = false;
  io::unique_fd null_;
  int running_ = 0;
  bool reading_ = true;
  std::vector<pid_t> pids_;  // by local rank; -1: not started, or ended
  // Before the ranks were started. Empty: unknown, or explained already.
  std::optional<uint64_t> kills_before_;
  std::vector<stream> streams_;
};

bool local_rank_group::prepare() {
  kills_before_ = count_memory_kills();
  null_.reset(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null_) return fail(base::StrCat("can't open /dev/null: ", errno_text()));
  // Orphans of the ranks become children of this process.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  if (!orphan_reaper_.start(assigned_.mark, options_.boot_dir)) {
    return fail(base::StrCat("can't start the orphan reaper: ", base::start_error_text(errno)));
  }
  if (!options_.boot_dir.empty()) {
    has_boot_dir_ = mkdir(options_.boot_dir.c_str(), 0700) == 0;
    if (!has_boot_dir_) {
      return fail(base::StrCat("can't make the job's directory ", options_.boot_dir, ": ",
                               errno_text(), "; set TMPDIR to a directory that has room"));
    }
  }
  if (options_.output != local_rank_group_options::capture::files) return true;
  const base::Status made = make_output_directory(options_.output_dir);
  return made.ok() || fail(std::string(made.message()));
}

void local_rank_group::start() {
  pids_.assign(assigned_.ranks.size(), -1);
  streams_.reserve(2 * pids_.size());
  if (!prepare()) return;
  topology_ = topology_for(assigned_);
  const auto ranks = static_cast<int>(assigned_.ranks.size());
  for (int local_rank = 0; local_rank < ranks; ++local_rank) {
    if (!start_rank(local_rank)) return;
  }
  // The callbacks refer to elements of streams_, which does not grow from here on.
  for (stream& s : streams_) {
    s.watched = loop_->watch(s.fd.get(), POLLIN, [this, &s] { read_stream(&s); });
  }
}

bool local_rank_group::start_rank(int local_rank) {
  const rank_plan plan = plan_rank(assigned_, local_rank, topology_);
  if (assigned_.report_bindings) {
    to_->message(
        base::StrCat("rank ", plan.rank, ": ", describe_binding(topology_, plan.processors)));
  }
  io::unique_fd out, error;
  if (!open_stream(plan.rank, 1, &out) || !open_stream(plan.rank, 2, &error)) return false;
  const int in = plan.rank == assigned_.stdin_rank ? options_.stdin_fd : null_.get();
  const base::StatusOr<pid_t> pid = spawn(plan, {in, out.get(), error.get()});
  if (!pid.ok()) return fail(std::string(pid.status().message()));
  pids_[static_cast<size_t>(local_rank)] = *pid;
  ++running_;
  return true;
}

bool local_rank_group::open_stream(int rank, int number, io::unique_fd* rank_end) {
  switch (options_.output) {
    case local_rank_group_options::capture::none:
      return true;
    case local_rank_group_options::capture::files: {
      const std::string path = output_file(options_.output_dir, rank, number);
      rank_end->reset(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
      return *rank_end || fail(base::StrCat(path, ": ", errno_text()));
    }
    case local_rank_group_options::capture::pipes:
      break;
  }
  base::StatusOr<pipe_ends> pipe = make_pipe(base::StrCat("no pipe for rank ", rank));
  if (!pipe.ok()) return fail(std::string(pipe.status().message()));
  fcntl(pipe->read.get(), F_SETFL, O_NONBLOCK);
  streams_.push_back({rank, number, std::move(pipe->read)});
  *rank_end = std::move(pipe->write);
  return true;
}

void local_rank_group::child_changed(pid_t pid, int status) {
  const auto found = std::find(pids_.begin(), pids_.end(), pid);
  if (found == pids_.end()) return;
  const int rank = assigned_.ranks[static_cast<size_t>(found - pids_.begin())];
  if (WIFSTOPPED(status) || WIFCONTINUED(status)) {
    return to_->rank_stopped(rank, WIFSTOPPED(status));
  }
  *found = -1;
  --running_;
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) explain_kill(rank);
  to_->rank_ended(rank, status);
}

// A process that the kernel kills when memory runs out ends without a word of its own. Later ranks
// may be killed because of the first one.
void local_rank_group::explain_kill(int rank) {
  const std::optional<uint64_t> kills = count_memory_kills();
  if (!kills || !kills_before_ || *kills == *kills_before_) return;
  to_->message(base::StrCat("rank ", rank,
                            " was probably killed because memory ran out: since the ",
                            "ranks started, the kernel has killed ", *kills - *kills_before_,
                            " of this machine's processes for that (dmesg says which)"));
  kills_before_.reset();
}

void local_rank_group::before_wait() {
  if (reading_ == (to_->output_room() > 0)) return;
  reading_ = !reading_;
  const short wanted = reading_ ? POLLIN : 0;
  for (const stream& s : streams_) loop_->change(s.watched, wanted);
}

bool local_rank_group::read_stream(stream* from) {
  char block[65536];
  const size_t room = std::min(sizeof(block), to_->output_room());
  if (room == 0) return false;
  const ssize_t n = read(from->fd.get(), block, room);
  if (n > 0) {
    to_->rank_output(from->rank, from->number, std::string_view(block, static_cast<size_t>(n)));
    return true;
  }
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  close_stream(from);
  return false;
}

void local_rank_group::close_stream(stream* s) {
  if (!s->fd) return;
  loop_->forget(s->watched);
  s->fd.reset();
  to_->rank_output(s->rank, s->number, "");
}

void local_rank_group::finish(int) {
  // Remove the directory before the reaper, which would remove it, is dismissed; and once more
  // after the processes that the ranks have left behind have ended, because they may write there.
  if (has_boot_dir_) remove_tree(options_.boot_dir);
  orphan_reaper_.dismiss();
  end_left_behind();
  if (has_boot_dir_) remove_tree(options_.boot_dir);
  // No process writes to the pipes from here on, so they contain the rest of the output.
  for (stream& s : streams_) {
    while (s.fd) {
      if (to_->output_room() == 0) {
        before_wait();
        loop_->run_once();
      } else if (!read_stream(&s)) {
        close_stream(&s);
      }
    }
  }
}

void local_rank_group::end_left_behind() {
  if (options_.other_children) {
    end_marked(assigned_.mark);
    return;
  }
  // Processes that were left behind are children of this process now. Usually there are none, and
  // /proc need not be read.
  int status = 0;
  pid_t pid;
  do {
    pid = waitpid(-1, &status, WNOHANG);
  } while (pid > 0 || (pid < 0 && errno == EINTR));
  if (pid == 0) {  // children that run: the ranks have left them behind
    if (options_.verbose) to_->message("ending processes that the ranks have left behind");
    end_marked(assigned_.mark);
    while (waitpid(-1, &status, 0) > 0 || errno == EINTR) {
    }
  }
}

}  // namespace

std::unique_ptr<rank_group> make_local_rank_group(io::event_loop* loop, rank_group::events* to,
                                                  rank_assignment assigned,
                                                  const local_rank_group_options& options) {
  return std::make_unique<local_rank_group>(loop, to, std::move(assigned), options);
}

}  // namespace lci::launcher
