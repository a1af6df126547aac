// The ranks of a job, wherever they are: started, signalled, heard and ended.
#ifndef LCI_TOOLS_LAUNCHER_CREW_H_
#define LCI_TOOLS_LAUNCHER_CREW_H_

#include <sys/types.h>

#include <string>
#include <string_view>

namespace lci::launcher {

// Thread safety: the thread of the event loop that a crew was made with.
class crew {
 public:
  class events {
   public:
    // Something that ends the job: its exit code, and for people what it was. Only what does not
    // belong to one rank's end.
    virtual void failed(int code, const std::string& what) = 0;
    // `status` as waitpid(2) has it.
    virtual void rank_ended(int rank, int status) = 0;
    // A rank was stopped (SIGSTOP, SIGTSTP), or it was continued.
    virtual void rank_stopped(int rank, bool stopped) = 0;
    // What a rank has written to stream 1 (stdout) or 2 (stderr), as far as that comes through us;
    // no bytes: the rank has closed it.
    virtual void rank_output(int rank, int stream, std::string_view bytes) = 0;
    // How many bytes of output may come now.
    virtual size_t output_room() const = 0;
    // For people.
    virtual void said(const std::string& line) = 0;

   protected:
    ~events() = default;
  };

  virtual ~crew() = default;

  // What fails is told to events::failed, perhaps later.
  virtual void start() = 0;

  // Whether there are ranks that run, or are to be started.
  virtual bool busy() const = 0;
  virtual bool is_running(int rank) const = 0;
  virtual const std::string& host_of(int rank) const = 0;

  // To all ranks that run. Before they are started, SIGKILL and SIGTERM see to it that they are
  // not, and other signals do nothing.
  virtual void signal(int signal) = 0;

  // A child of this process has ended. False if it is none of this crew's.
  virtual bool child_ended(pid_t pid, int status) = 0;

  // A child of this process was stopped, or continued; perhaps none of this crew's.
  virtual void child_stopped(pid_t pid, bool stopped) = 0;

  // Before the loop waits: output_room() may have changed.
  virtual void before_wait() = 0;

  // When it is not busy any more: ends what the ranks have left behind, and hands on what is still
  // to be read of them. `code`: the job's exit code. Runs the loop as long as it needs to.
  virtual void finish(int code) = 0;
};

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_CREW_H_
