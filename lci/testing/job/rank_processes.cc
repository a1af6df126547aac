#include "lci/testing/job/rank_processes.h"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>

#include "gtest/gtest.h"
#include "lci/base/check.h"
#include "lci/base/strings.h"
#include "lci/testing/fail_fast/fail_fast.h"

namespace lci::boot {
namespace {

bool has_failed_assertion(int status) {
  return (WIFEXITED(status) && WEXITSTATUS(status) == rank_processes::assertion_failed) ||
         (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

}  // namespace

rank_processes::rank_processes(const std::vector<pid_t>& ranks) : pids_(ranks) {
  for (const pid_t each : ranks) {
    const int descriptor = static_cast<int>(::syscall(SYS_pidfd_open, each, 0));
    LCI_CHECK(descriptor >= 0, "pidfd_open (Linux 5.3): ", std::strerror(errno));
    running_.push_back({descriptor, POLLIN, 0});
  }
}

int rank_processes::wait() {
  while (ended_ < pids_.size()) {
    if (::poll(running_.data(), running_.size(), milliseconds_left()) > 0) reap();
    if (deadline_ && clock::now() >= *deadline_) kill_the_rest();
  }
  return failed_;
}

int rank_processes::milliseconds_left() const {
  if (!deadline_) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline_ - clock::now());
  return std::max(0, static_cast<int>(left.count()));
}

void rank_processes::reap() {
  for (size_t rank = 0; rank < pids_.size(); ++rank) {
    pollfd& running = running_[rank];
    if (running.fd < 0 || running.revents == 0) continue;
    int status = 0;
    LCI_CHECK(::waitpid(pids_[rank], &status, 0) == pids_[rank], "waitpid");
    ::close(running.fd);
    running.fd = -1;
    ++ended_;
    if (status != 0) ++failed_;
    if (has_failed_assertion(status) && first_failed_ < 0) {
      first_failed_ = static_cast<int>(rank);
      deadline_ = clock::now() + std::chrono::seconds(fail_fast::grace_seconds);
    }
  }
}

void rank_processes::kill_the_rest() {
  deadline_.reset();
  std::string killed;
  for (size_t rank = 0; rank < pids_.size(); ++rank) {
    if (running_[rank].fd < 0) continue;
    ::kill(pids_[rank], SIGKILL);
    killed += base::StrCat(" ", rank);
  }
  if (killed.empty()) return;
  ADD_FAILURE() << "rank " << first_failed_ << " has failed (see above); these ranks still ran "
                << fail_fast::grace_seconds << " s later and were killed:" << killed;
}

}  // namespace lci::boot
