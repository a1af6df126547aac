#ifndef LCI_TOOLS_LAUNCHER_JOB_H_
#define LCI_TOOLS_LAUNCHER_JOB_H_

#include "tools/launcher/options.h"
#include "tools/launcher/plan.h"

namespace lci::launcher {

// Runs a job: starts the ranks, on this host or by helpers on several hosts, serves their
// bootstrap, and forwards signals, input and output. Writes the first failure to stderr. Returns
// when no process of the job is left: 0, or the exit code of the first failure (128 + signal), or
// 124 after
// --timeout.
int run_job(const launch_options& options, const job_plan& plan);

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_JOB_H_
