#include "lci/boot/tcp_helper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "lci/base/error_text.h"
#include "lci/base/strings.h"
#include "lci/boot/bootstrap.h"
#include "lci/boot/meeting_file.h"
#include "lci/boot/process.h"
#include "lci/io/socket.h"
#include "lci/io/unique_fd.h"

namespace lci::boot {
namespace {

io::unique_fd open_pidfd(pid_t pid) {
#ifdef SYS_pidfd_open
  return io::unique_fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
#else
  (void)pid;
  return io::unique_fd();
#endif
}

void close_range_or_each(unsigned first, unsigned last) {
  if (first > last) return;
#ifdef SYS_close_range
  if (::syscall(SYS_close_range, first, last, 0) == 0) return;
#endif
  const auto limit = static_cast<unsigned>(std::max(::sysconf(_SC_OPEN_MAX), 1024L));
  for (unsigned fd = first; fd <= std::min(last, limit); ++fd) ::close(static_cast<int>(fd));
}

// Closes everything but the standard streams and `keep` (ascending; entries below 3 are ignored).
void close_all_but(const std::array<int, 2>& keep) {
  unsigned first = 3;
  for (int fd : keep) {
    if (fd < 3) continue;
    close_range_or_each(first, static_cast<unsigned>(fd) - 1);
    first = static_cast<unsigned>(fd) + 1;
  }
  close_range_or_each(first, ~0u);
}

// From fork on, only what is safe in a child of a multithreaded process: system calls, and the
// allocator, which the C library keeps usable in a child.
[[noreturn]] void serve(io::unique_fd listener, io::unique_fd rank0_ended, process_id rank0,
                        tcp_server::options options, std::string meeting) {
  for (int signal_number = 1; signal_number < NSIG; ++signal_number) {
    ::signal(signal_number, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::prctl(PR_SET_NAME, "lci-boot");
  const int null = ::open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; ++fd) ::dup2(null, fd);
  std::array<int, 2> keep = {listener.get(), rank0_ended.get()};
  std::sort(keep.begin(), keep.end());
  close_all_but(keep);
  if (::chdir("/") != 0) ::_exit(1);

  const auto remove_meeting = [&meeting, &options] {
    if (!meeting.empty()) remove_meeting_file(meeting, options.token);
    meeting.clear();
  };
  options.on_start = remove_meeting;
  base::StatusOr<std::unique_ptr<tcp_server>> server =
      tcp_server::serve(std::move(listener), options);
  if (!server.ok()) ::_exit(1);
  bool rank0_gone = false;
  for (;;) {
    const auto state = (*server)->state(0);
    const bool rank0_left =
        state == tcp_server::rank_state::finished || state == tcp_server::rank_state::lost;
    if ((rank0_gone || rank0_left) && (*server)->idle()) break;
    pollfd events[2] = {{(*server)->poll_fd(), POLLIN, 0},
                        {rank0_gone ? -1 : rank0_ended.get(), POLLIN, 0}};
    // Without a pidfd (kernels before 5.3), check for rank 0 every second.
    ::poll(events, 2, rank0_ended || rank0_gone ? -1 : 1000);
    (*server)->step();
    if (!rank0_gone && (rank0_ended ? events[1].revents != 0 : !is_alive(rank0))) {
      rank0_gone = true;
      // Read everything that rank 0 sent before its end, its leave frame included.
      while ((*server)->step()) {
      }
      if ((*server)->state(0) != tcp_server::rank_state::finished) {
        // Rank 0 may have ended because of another one.
        const std::string* const first = (*server)->look_up(bootstrap::lost_key);
        int lost = 0;
        if (first == nullptr || !base::SimpleAtoi(*first, &lost)) lost = 0;
        (*server)->abort(lost, "its process ended without leaving the job");
      }
    }
  }
  // While the server still listens: who finds nobody there replaces the file.
  remove_meeting();
  ::_exit(0);
}

}  // namespace

base::StatusOr<std::string> start_tcp_helper(const tcp_server::options& options,
                                             const std::string& meeting) {
  // Without a token, only ranks of this machine may join.
  base::StatusOr<io::unique_fd> listener = options.token.empty()
                                               ? io::listen_on(options.bind_address)
                                               : io::listen_for_others(options.bind_address);
  if (!listener.ok()) return listener.status();
  std::string address;
  {
    // Run the helper's checks here, where their errors can be reported.
    io::unique_fd copy(::fcntl(listener->get(), F_DUPFD_CLOEXEC, 0));
    base::StatusOr<std::unique_ptr<tcp_server>> trial = tcp_server::serve(std::move(copy), options);
    if (!trial.ok()) return trial.status();
    address = (*trial)->address();
  }
  const process_id rank0 = this_process();
  io::unique_fd rank0_ended = open_pidfd(::getpid());
  const pid_t child = ::fork();
  if (child < 0) {
    return base::ResourceExhaustedError(base::StrCat(
        "cannot start the bootstrap's helper process: fork: ", base::start_error_text(errno)));
  }
  if (child == 0) {
    ::setsid();
    // The parent ends immediately, so that the helper is not a child of the calling process.
    if (::fork() != 0) ::_exit(0);
    serve(*std::move(listener), std::move(rank0_ended), rank0, options, meeting);
  }
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return address;
}

}  // namespace lci::boot
