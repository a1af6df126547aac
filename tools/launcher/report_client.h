#ifndef LCI_TOOLS_LAUNCHER_REPORT_CLIENT_H_
#define LCI_TOOLS_LAUNCHER_REPORT_CLIENT_H_

#include "tools/launcher/options.h"

namespace lci::launcher {

// lcrun --report: asks the lcrun that runs a job for the report of its ranks, and prints the report
// to stdout. Without the id of a job, asks the only job of this user on this host, or lists the
// jobs. Returns the exit code: 0, or 1 with an error on stderr.
int print_report(const launch_options& options);

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_REPORT_CLIENT_H_
