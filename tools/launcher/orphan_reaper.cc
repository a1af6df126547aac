#include "tools/launcher/orphan_reaper.h"

#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "lci/base/strings.h"
#include "lci/io/files.h"
#include "tools/launcher/pipe.h"

namespace lci::launcher {
namespace {

// Whether an environment, in which a zero byte ends each variable, contains the mark.
bool has_mark(std::string_view environment, std::string_view mark) {
  return base::StartsWith(environment, mark) ||
         environment.find(base::StrCat(std::string_view("\0", 1), mark)) != std::string_view::npos;
}

// Returns the number of processes with the mark.
int kill_marked(const std::string& mark) {
  const std::string whole = base::StrCat(mark, std::string_view("\0", 1));
  int found = 0;
  for (const std::string& entry : io::list_directory("/proc")) {
    const pid_t pid = std::atoi(entry.c_str());
    if (pid <= 0 || pid == getpid()) continue;
    const std::optional<std::string> environment =
        io::read_file(base::StrCat("/proc/", pid, "/environ"));
    if (!environment || !has_mark(*environment, whole)) continue;  // that of a zombie is empty
    kill(pid, SIGKILL);
    ++found;
  }
  return found;
}

}  // namespace

std::string mark_of(const std::string& job_id, int node) {
  return base::StrCat("LCI_JOB_NODE=", job_id, ".", node);
}

void end_marked(const std::string& mark) {
  while (kill_marked(mark) > 0) sched_yield();
}

void remove_tree(const std::string& directory) {
  const auto remove_one = [](const char* path, const struct stat*, int, struct FTW*) {
    remove(path);
    return 0;  // continue even if this one cannot be removed
  };
  nftw(directory.c_str(), remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

bool orphan_reaper::start(const std::string& mark, const std::string& directory) {
  base::StatusOr<pipe_ends> made = make_pipe("orphan reaper");
  if (!made.ok()) return false;
  const pid_t child = fork();
  if (child < 0) return false;
  if (child > 0) {
    pid_ = child;
    pipe_ = std::move(made->write);
    return true;
  }
  // The reaper. It has a session of its own, so that a signal to lcrun's process group does not end
  // it, and does not hold the terminal.
  made->write.reset();
  setsid();
  prctl(PR_SET_NAME, "lci-reaper");
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, nullptr);
  const int null = open("/dev/null", O_RDWR);
  for (int fd = 0; null >= 0 && fd < 3; ++fd) dup2(null, fd);
  // It keeps no other descriptor of lcrun: the other ends of pipes and connections would not see
  // that lcrun has closed them.
  constexpr int pipe = 3;
  if (made->read.get() != pipe) dup2(made->read.get(), pipe);
  close_range(pipe + 1, ~0u, 0);
  char dismissed = 0;
  ssize_t n;
  while ((n = read(pipe, &dismissed, 1)) < 0 && errno == EINTR) {
  }
  if (n == 0) {
    end_marked(mark);
    if (!directory.empty()) remove_tree(directory);
  }
  _exit(0);
}

void orphan_reaper::dismiss() {
  if (pid_ < 0) return;
  const char dismissed = 1;
  while (write(pipe_.get(), &dismissed, 1) < 0 && errno == EINTR) {
  }
  pipe_.reset();
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

}  // namespace lci::launcher
