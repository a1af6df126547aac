#include "tools/launcher/process_signals.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace lci::launcher {

base::Status process_signals::start(std::initializer_list<int> signals) {
  sigset_t received;
  sigemptyset(&received);
  sigaddset(&received, SIGCHLD);
  for (const int signal : signals) sigaddset(&received, signal);
  sigprocmask(SIG_BLOCK, &received, nullptr);
  signal(SIGPIPE, SIG_IGN);
  signals_.reset(signalfd(-1, &received, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_) return base::ErrnoToStatus(errno, "signalfd");
  watched_ = loop_->watch(signals_.get(), POLLIN, [this] { receive_now(); });
  return loop_->status();
}

void process_signals::receive_now() {
  signalfd_siginfo info;
  bool child = false;
  while (read(signals_.get(), &info, sizeof(info)) == sizeof(info)) {
    if (info.ssi_signo == SIGCHLD) {
      child = true;
    } else {
      signaled_(static_cast<int>(info.ssi_signo));
    }
  }
  while (child) {
    int status = 0;
    const pid_t pid = waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED);
    if (pid < 0 && errno == EINTR) continue;
    if (pid <= 0) return;
    changed_(pid, status);
  }
}

}  // namespace lci::launcher
