#ifndef LCI_TOOLS_LAUNCHER_REMOTE_RANK_GROUP_H_
#define LCI_TOOLS_LAUNCHER_REMOTE_RANK_GROUP_H_

#include <memory>
#include <string>

#include "lci/base/status.h"
#include "lci/io/event_loop.h"
#include "tools/launcher/addresses.h"
#include "tools/launcher/options.h"
#include "tools/launcher/plan.h"
#include "tools/launcher/rank_group.h"

namespace lci::launcher {

// Makes the group of the ranks of a job whose hosts, this one included, have helpers (helper.h). No
// rank starts before all helpers have connected. If a connection ends, the host is lost: the group
// reports a failure and considers the host's ranks ended, because the helper ends them if it lives.
//
// The helpers connect to `at`, unless --rdzv-endpoint names another address. `boot_port` is the
// port of the bootstrap server on this machine; ranks reach it by the address to which their helper
// has connected. `options` and `plan` outlive the group.
base::StatusOr<std::unique_ptr<rank_group>> make_remote_rank_group(
    io::event_loop* loop, rank_group::events* to, const launch_options& options,
    const job_plan& plan, const io::reachable& at, const std::string& boot_port);

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_REMOTE_RANK_GROUP_H_
