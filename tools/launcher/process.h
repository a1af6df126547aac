#ifndef LCI_TOOLS_LAUNCHER_PROCESS_H_
#define LCI_TOOLS_LAUNCHER_PROCESS_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "lci/base/status.h"
#include "tools/launcher/plan.h"

namespace lci::launcher {

// The standard descriptors of a rank; -1: that of this process.
struct rank_streams {
  int in = -1;
  int out = -1;
  int error = -1;
};

// Starts one rank, in a process group of its own, bound to its processors, and with the default
// signal actions. The kernel kills the rank when this process dies. After a failure behind the
// fork, the rank writes the reason to its stderr and exits with 127 if a file is missing, else with
// 126.
base::StatusOr<pid_t> spawn(const rank_plan& rank, const rank_streams& streams);

// Raises the limit of descriptors to the hard limit, for many ranks and hosts. Processes that
// spawn() and start_agent() start have the original limit.
void raise_file_limit();

// Starts `command`, which it looks up in PATH, in a process group of its own and with these three
// descriptors. The kernel kills the process when this process dies. The exit code is 127 if there
// is no such program.
base::StatusOr<pid_t> start_agent(const std::vector<std::string>& command, int in, int out,
                                  int error);

// Continues the stopped processes (SIGSTOP, SIGTSTP) of these process groups. No other process gets
// SIGCONT, which would take back a stop signal that is under way to it: tracers, such as the leak
// detector of gcc and clang at the end of a process, wait for that for ever.
void continue_stopped(const std::vector<pid_t>& groups);

// "exit code 3", "signal 11 (SIGSEGV)".
std::string describe_status(int wait_status);
// The exit code as of a shell: that of the process, or 128 + the signal.
int exit_code_of(int wait_status);

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_PROCESS_H_
