// lcrun on one of the hosts of a job: starts the ranks there for the lcrun that the user has
// started, and is its ears and hands. It ends, and with it all of the job on this host, when its
// connection does.
#ifndef LCI_TOOLS_LAUNCHER_HELPER_H_
#define LCI_TOOLS_LAUNCHER_HELPER_H_

#include "tools/launcher/options.h"

namespace lci::launcher {

// Started by an agent: the errand comes on standard input. Returns the exit code.
int run_helper();

// Started by a person, with --node-rank above 0. The program, its arguments and the directory are
// those of `options`. Returns the exit code of the job.
int run_helper_by_hand(const launch_options& options);

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_HELPER_H_
