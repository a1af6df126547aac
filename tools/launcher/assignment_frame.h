// The rank assignment of a host as a frame between lcrun and the helper of the host.
#ifndef LCI_TOOLS_LAUNCHER_ASSIGNMENT_FRAME_H_
#define LCI_TOOLS_LAUNCHER_ASSIGNMENT_FRAME_H_

#include <cstddef>
#include <string>

#include "tools/launcher/options.h"
#include "tools/launcher/plan.h"
#include "tools/launcher/wire.h"

namespace lci::launcher {

// The assignment of host `node`, whose ranks reach the bootstrap server at `boot_address`.
wire::rank_assignment to_frame(const job_plan& plan, const launch_options& options, size_t node,
                               const std::string& boot_address);

// Whether the assignment is consistent: ascending ranks, a program for each, values in their range.
bool is_valid(const wire::rank_assignment& frame);

// The assignment of this host. Its environment is that of this process with the variables of the
// job; the files of its programs are not looked up yet. `frame` is valid.
rank_assignment from_frame(const wire::rank_assignment& frame);

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_ASSIGNMENT_FRAME_H_
