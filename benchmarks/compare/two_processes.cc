#include "benchmarks/compare/two_processes.h"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace compare {

struct two_processes::meeting_t {
  struct alignas(128) counter_t {
    std::atomic<uint64_t> value{0};
  };
  counter_t arrived[2];  // how often each rank has come
};

namespace {

void* map_shared(size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("mmap");
    std::exit(1);
  }
  return memory;
}

void child_ended(int) {
  const int saved = errno;
  int status = 0;
  // A child that ended well is left for the destructor.
  siginfo_t info{};
  if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0) {
    status = info.si_code == CLD_EXITED ? info.si_status : 1;
  }
  if (status != 0) {
    constexpr char text[] = "rank 1 failed\n";
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0) {
      _exit(2);
    }
    _exit(1);
  }
  errno = saved;
}

}  // namespace

two_processes::two_processes(size_t shared_bytes)
    : meeting_(new (map_shared(sizeof(meeting_t))) meeting_t),
      shared_(shared_bytes == 0 ? nullptr : map_shared(shared_bytes)) {
  struct sigaction action = {};
  action.sa_handler = child_ended;
  action.sa_flags = SA_RESTART;
  sigaction(SIGCHLD, &action, nullptr);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) {
    std::perror("fork");
    std::exit(1);
  }
  if (child == 0) {
    rank_ = 1;
    other_ = parent;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
      _exit(1);
    }
  } else {
    other_ = child;
  }
}

two_processes::~two_processes() {
  if (rank_ == 0) {
    int status = 0;
    while (waitpid(other_, &status, 0) < 0 && errno == EINTR) {
    }
  }
}

void two_processes::meet() {
  ++meetings_;
  meeting_->arrived[rank_].value.store(meetings_, std::memory_order_release);
  while (meeting_->arrived[1 - rank_].value.load(std::memory_order_acquire) < meetings_) {
    sched_yield();
  }
}

}  // namespace compare
