#ifndef LCI_TOOLS_LAUNCHER_REMOTE_CREW_H_
#define LCI_TOOLS_LAUNCHER_REMOTE_CREW_H_

#include <memory>
#include <string>

#include "lci/base/status.h"
#include "tools/launcher/addresses.h"
#include "tools/launcher/crew.h"
#include "tools/launcher/event_loop.h"
#include "tools/launcher/options.h"
#include "tools/launcher/plan.h"

namespace lci::launcher {

// The ranks of a job whose hosts have helpers (helper.h), this host's own included. No rank starts
// before all hosts are there. A host whose connection ends is lost, which is a failure; its ranks
// are then taken for ended: its helper, where it lives, ends them.
//
// `at`: where helpers come to, unless --rdzv-endpoint says it. `boot_port`: where this machine
// serves the ranks' bootstrap, by whichever address a helper has come. `options` and `plan` must
// outlive it.
base::StatusOr<std::unique_ptr<crew>> make_remote_crew(event_loop* loop, crew::events* to,
                                                       const launch_options& options,
                                                       const job_plan& plan, const reachable& at,
                                                       const std::string& boot_port);

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_REMOTE_CREW_H_
