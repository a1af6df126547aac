// The helper, an lcrun on one host of a job that acts for the lcrun that the user has started. It
// starts the ranks of this host, reports their state and output, and passes signals and input on to
// them. When its connection ends, the helper ends all processes of the job on this host.
#ifndef LCI_TOOLS_LAUNCHER_HELPER_H_
#define LCI_TOOLS_LAUNCHER_HELPER_H_

#include "tools/launcher/options.h"

namespace lci::launcher {

// Runs a helper that an agent has started. Reads the launch request from standard input. Returns
// the exit code.
int run_helper();

// Runs a helper that the user has started, with --node-rank above 0. The program, its arguments and
// the directory are those of `options`. Returns the exit code of the job.
int run_helper_by_hand(const launch_options& options);

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_HELPER_H_
