#ifndef LCI_TOOLS_LAUNCHER_PROCESS_SIGNALS_H_
#define LCI_TOOLS_LAUNCHER_PROCESS_SIGNALS_H_

#include <sys/types.h>

#include <functional>
#include <initializer_list>
#include <utility>

#include "lci/base/status.h"
#include "lci/io/event_loop.h"
#include "lci/io/unique_fd.h"

namespace lci::launcher {

// The signals of this process, and the changes of its children, as events of a loop.
//
// Thread safety: the thread of the event loop.
class process_signals {
 public:
  // Receives a signal, and a child with its status as of waitpid(2): ended, stopped or continued.
  using on_signal = std::function<void(int signal)>;
  using on_child = std::function<void(pid_t pid, int status)>;

  // `loop` outlives the object.
  process_signals(io::event_loop* loop, on_signal signaled, on_child changed)
      : loop_(loop), signaled_(std::move(signaled)), changed_(std::move(changed)) {}
  ~process_signals() { loop_->forget(watched_); }
  process_signals(const process_signals&) = delete;
  process_signals& operator=(const process_signals&) = delete;

  // Blocks `signals` and SIGCHLD in this thread, and receives them by the loop from now on. Ignores
  // SIGPIPE. The error is of the loop, too.
  base::Status start(std::initializer_list<int> signals);

  // Receives what has arrived, as the loop does. For callers whose decision depends on it.
  void receive_now();

 private:
  io::event_loop* const loop_;
  const on_signal signaled_;
  const on_child changed_;
  io::unique_fd signals_;
  io::event_loop::id watched_ = 0;
};

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_PROCESS_SIGNALS_H_
