#ifndef LCI_TOOLS_LAUNCHER_PROCESS_H_
#define LCI_TOOLS_LAUNCHER_PROCESS_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "lci/base/status.h"
#include "tools/launcher/plan.h"

namespace lci::launcher {

// The descriptors that a rank starts with; -1: as ours.
struct rank_streams {
  int in = -1;
  int out = -1;
  int error = -1;
};

// Starts one rank: in a process group of its own, bound to its cores, with the default signal
// dispositions, and such that it dies if this process does. A failure after the fork is told on the
// rank's stderr, and it exits with 127.
base::StatusOr<pid_t> spawn(const rank_plan& rank, const rank_streams& streams);

// Many ranks and hosts need many descriptors here: as many as the hard limit allows. What spawn and
// start_agent start has the limit that was.
void raise_file_limit();

// Starts `command`, found in PATH, in a process group of its own, such that it dies if this process
// does, with these three descriptors. An exit code of 127 says that there is no such program.
base::StatusOr<pid_t> start_agent(const std::vector<std::string>& command, int in, int out,
                                  int error);

// "exit code 3", "signal 11 (SIGSEGV)".
std::string describe_status(int wait_status);
// What a shell would call it: the exit code, or 128 + the signal.
int exit_code_of(int wait_status);

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_PROCESS_H_
