// Runs launch agents and reads their output. Each agent starts a helper on one host.
#ifndef LCI_TOOLS_LAUNCHER_AGENTS_H_
#define LCI_TOOLS_LAUNCHER_AGENTS_H_

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "lci/base/status.h"
#include "lci/io/event_loop.h"
#include "lci/io/unique_fd.h"
#include "tools/launcher/options.h"
#include "tools/launcher/wire.h"

namespace lci::launcher {

// Thread safety: the loop's thread.
class agents {
 public:
  class events {
   public:
    // A line of the output of an agent.
    virtual void agent_line(int node, const std::string& line) = 0;
    // An agent has ended, or could not be started: "exit code 255: <its last line>".
    virtual void agent_ended(int node, const std::string& how) = 0;

   protected:
    ~events() = default;
  };

  agents(io::event_loop* loop, events* to) : loop_(loop), to_(to) {}
  // Kills the agents that run.
  ~agents();

  // Runs `command` with the launch request on its standard input, where, unlike in an argument, no
  // other user can read it.
  void start(int node, const std::vector<std::string>& command,
             const wire::launch_request& request);
  // Handles a child of this process that has changed; `status` is that of waitpid(2). Returns false
  // if the child is not an agent.
  bool child_changed(pid_t pid, int status);
  void kill(int node);
  void kill_all();
  // Waits at most 5 s for the end of the agents, whose helpers have finished. Runs the loop. The
  // destructor kills those that are left.
  void finish();

 private:
  struct agent {
    pid_t pid = -1;
    io::unique_fd output;
    io::event_loop::id watched = 0;
    std::string line;
    std::string last_line;
  };

  bool read(int node, agent* from);
  void take_line(int node, agent* from);

  io::event_loop* const loop_;
  events* const to_;
  std::map<int, agent> running_;  // by node
};

// The request to the helper of host `node`, without the token and the addresses of lcrun.
wire::launch_request launch_request_of(const launch_options& options, int node);

// Reads the launch request that an agent passes on from lcrun (wire.h). Returns InvalidArgument if
// the bytes are not a launch request of this version. Blocks until the request or the end arrives.
base::StatusOr<wire::launch_request> read_launch_request(int fd);

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_AGENTS_H_
