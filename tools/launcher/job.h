#ifndef LCI_TOOLS_LAUNCHER_JOB_H_
#define LCI_TOOLS_LAUNCHER_JOB_H_

#include "tools/launcher/options.h"
#include "tools/launcher/plan.h"

namespace lci::launcher {

// Starts the ranks, here or through helpers on several hosts, serves their rendezvous, forwards
// signals and output, and returns when none of the job's processes is left: 0, or the exit code of
// the first failure (128 + signal), 124 after --timeout. Says on stderr what failed first.
int run_job(const launch_options& options, const job_plan& plan);

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_JOB_H_
