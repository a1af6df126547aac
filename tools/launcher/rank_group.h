// The ranks of a job on one host or on several: started, signaled, observed and ended.
#ifndef LCI_TOOLS_LAUNCHER_RANK_GROUP_H_
#define LCI_TOOLS_LAUNCHER_RANK_GROUP_H_

#include <sys/types.h>

#include <string>
#include <string_view>

namespace lci::launcher {

// Thread safety: the thread of the event loop that the group was made with.
class rank_group {
 public:
  class events {
   public:
    // A failure that ends the job and is not the end of one rank: lcrun's exit code, and a text for
    // the user.
    virtual void failed(int code, const std::string& what) = 0;
    // `status` is that of waitpid(2).
    virtual void rank_ended(int rank, int status) = 0;
    // A rank was stopped (SIGSTOP, SIGTSTP), or continued.
    virtual void rank_stopped(int rank, bool stopped) = 0;
    // A rank has written `bytes` to stream 1 (stdout) or 2 (stderr); empty: it has closed the
    // stream. Only for streams that are redirected to this process.
    virtual void rank_output(int rank, int stream, std::string_view bytes) = 0;
    // The number of bytes of output that can be accepted now.
    virtual size_t output_room() const = 0;
    // A line for the user.
    virtual void message(const std::string& line) = 0;

   protected:
    ~events() = default;
  };

  virtual ~rank_group() = default;

  // Starts the ranks. Reports failures by events::failed, during the call or later.
  virtual void start() = 0;

  // Whether ranks run, or are still to be started.
  virtual bool busy() const = 0;
  virtual bool is_running(int rank) const = 0;
  virtual const std::string& host_of(int rank) const = 0;

  // Sends a signal to all ranks that run. Before the ranks are started, SIGKILL and SIGTERM prevent
  // their start, and other signals have no effect.
  virtual void signal(int signal) = 0;

  // Handles a child of this process that has ended, or was stopped or continued; `status` is that
  // of waitpid(2). Ignores children that are not of this group.
  virtual void child_changed(pid_t pid, int status) = 0;

  // Call before each wait of the loop, because output_room() may have changed.
  virtual void before_wait() = 0;

  // Call when the group is no longer busy. Ends the processes that the ranks have left behind, and
  // delivers the rest of the output. `code` is the job's exit code. Runs the loop while it waits.
  virtual void finish(int code) = 0;
};

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_RANK_GROUP_H_
