#include "lci/observe/observer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <system_error>
#include <thread>

#include "lci/base/log.h"
#include "lci/base/strings.h"
#include "lci/base/system.h"
#include "lci/observe/clock.h"
#include "lci/observe/job_report.h"
#include "lci/observe/rank_report.h"
#include "lci/observe/rank_scope.h"
#include "lci/observe/subject.h"
#include "lci/observe/waiting.h"

namespace lci::observe {
namespace {

using std::chrono::milliseconds;
using steady = std::chrono::steady_clock;

constexpr milliseconds tick{1000};
// For the answers of ranks that sleep, or that watch the store of a file system.
constexpr milliseconds time_to_answer{2500};

// The descriptor that the handler of SIGUSR1 writes to; -1: none.
std::atomic<int> wake_of_handler{-1};
std::atomic<bool> was_signaled{false};

void ring(int descriptor) {
  const uint64_t one = 1;
  // It can fail only if the descriptor is readable already.
  static_cast<void>(!::write(descriptor, &one, sizeof(one)));
}

void on_signal(int) {
  const int error = errno;
  was_signaled.store(true);
  if (const int to = wake_of_handler.load(); to >= 0) ring(to);
  errno = error;
}

class thread_observer final : public observer {
 public:
  thread_observer(boot::bootstrap& boot, const observer_options& options, int wake)
      : boot_(boot),
        options_(options),
        owner_pid_(::getpid()),
        wake_(wake),
        host_(base::host_name()) {
    coarse_clock::advance();
    handle_signal();
    thread_ = start_thread();
  }

  ~thread_observer() override {
    if (owner_pid_ != ::getpid()) {
      // The thread is the parent's.
      thread_.detach();
      return;
    }
    stop_.store(true, std::memory_order_release);
    ring(wake_);
    thread_.join();
    leave_signal();
    ::close(wake_);
  }

 private:
  // With all signals blocked: they are for the program's threads.
  std::thread start_thread() {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      std::thread started([this, rank = rank_of_this_thread()] {
        const rank_scope scope(rank);
        run();
      });
      pthread_setname_np(started.native_handle(), "lci-observer");
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
      return started;
    } catch (...) {
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
      leave_signal();
      throw;
    }
  }

  void handle_signal() {
    struct sigaction now = {};
    if (::sigaction(SIGUSR1, nullptr, &now) != 0) return;
    if ((now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != SIG_DFL) return;
    wake_of_handler.store(wake_);
    struct sigaction action = {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    handles_signal_ = ::sigaction(SIGUSR1, &action, nullptr) == 0;
  }

  void leave_signal() {
    if (!handles_signal_) return;
    struct sigaction now = {};
    const bool is_installed = ::sigaction(SIGUSR1, nullptr, &now) == 0 &&
                              (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == on_signal;
    if (is_installed) ::signal(SIGUSR1, SIG_DFL);
    wake_of_handler.store(-1);
  }

  void run() {
    steady::time_point next_tick = steady::now();
    while (!stop_.load(std::memory_order_acquire)) {
      if (steady::now() >= next_tick) {
        coarse_clock::advance();
        tick_all();
        next_tick = steady::now() + tick;
      }
      watch(std::chrono::duration_cast<milliseconds>(next_tick - steady::now()));
      if (was_signaled.exchange(false)) {
        ask(base::StrCat("SIGUSR1 to rank ", boot_.rank()));
      }
      look_for_overdue_waits();
    }
  }

  // Until a query, a wake-up or the timeout.
  void watch(milliseconds timeout) {
    if (!is_connected_) {
      boot::sleep_until_readable(wake_, timeout);
    } else {
      const auto query =
          boot_.watch(query_key(query_), wake_, timeout.count() > 0 ? timeout : milliseconds(0));
      if (query.ok()) {
        answer();
      } else if (!base::IsDeadlineExceeded(query.status())) {
        // The job has been aborted, or the server is gone: from now on this rank speaks for itself.
        is_connected_ = false;
      }
    }
    uint64_t rung = 0;
    static_cast<void>(!::read(wake_, &rung, sizeof(rung)));
  }

  void look_for_overdue_waits() {
    if (options_.patience.count() == 0) return;
    while (const auto wait = overdue_wait(options_.patience)) {
      // Those that the last report has shown already.
      if (steady::now() < quiet_until_) continue;
      ask(base::StrCat("rank ", boot_.rank(), " has waited ", wait->seconds, " s in ", wait->call,
                       "; LCI_HANG_REPORT sets the time"));
    }
  }

  rank_report report() const {
    if (options_.on_query) options_.on_query();
    rank_report made;
    made.rank = boot_.rank();
    made.size = boot_.size();
    made.pid = ::getpid();
    made.host = host_;
    made.program = program_invocation_short_name;
    describe_all(&made);
    return made;
  }

  void ask(const std::string& reason) {
    quiet_until_ = steady::now() + options_.patience;
    if (is_connected_) {
      const base::Status put = boot_.put(query_key(query_), reason);
      // Another rank has asked at the same moment: then it collects.
      if (base::IsAlreadyExists(put)) return;
      if (put.ok()) {
        const int asked = query_;
        answer();
        if (!options_.is_collected_by_server) collect(asked, reason);
        return;
      }
      is_connected_ = false;
    }
    job_report alone;
    alone.reason = base::StrCat(reason, "; this rank alone, as the job is not connected");
    alone.size = boot_.size();
    alone.ranks.push_back(report());
    base::write_all(STDERR_FILENO, base::StrCat("lci: ", to_text(alone)));
  }

  void answer() {
    quiet_until_ = steady::now() + options_.patience;
    static_cast<void>(boot_.put(answer_key(query_, boot_.rank()), encode(report())));
    ++query_;
  }

  void collect(int query, const std::string& reason) {
    job_report job;
    job.reason = reason;
    job.size = boot_.size();
    const steady::time_point deadline = steady::now() + time_to_answer;
    for (int rank = 0; rank < boot_.size(); ++rank) {
      const auto left = std::chrono::duration_cast<milliseconds>(deadline - steady::now());
      const auto text =
          boot_.get(answer_key(query, rank), left.count() > 0 ? left : milliseconds(0));
      const auto answered = text.ok() ? decode(*text) : base::StatusOr<rank_report>(text.status());
      if (answered.ok()) {
        job.ranks.push_back(*answered);
      } else {
        job.silent.push_back({rank, "does not answer"});
      }
    }
    base::write_all(STDERR_FILENO, base::StrCat("lci: ", to_text(job)));
  }

  boot::bootstrap& boot_;
  const observer_options options_;
  const pid_t owner_pid_;
  const int wake_;  // an eventfd
  const std::string host_;
  bool handles_signal_ = false;
  std::atomic<bool> stop_{false};

  // Of the thread.
  bool is_connected_ = true;
  int query_ = 0;  // the next one
  steady::time_point quiet_until_;

  std::thread thread_;
};

}  // namespace

std::unique_ptr<observer> start_observer(boot::bootstrap& boot, const observer_options& options) {
  const int wake = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake >= 0) {
    try {
      return std::make_unique<thread_observer>(boot, options, wake);
    } catch (const std::system_error&) {
      ::close(wake);
    }
  }
  LCI_LOG(warn, "this rank can't answer when its job is asked what it waits for: no ",
          wake < 0 ? "descriptor" : "thread", " is left for it");
  return nullptr;
}

}  // namespace lci::observe
