// The hosts that a batch system has given to the job to which this process belongs.
#ifndef LCI_TOOLS_LAUNCHER_ALLOCATION_H_
#define LCI_TOOLS_LAUNCHER_ALLOCATION_H_

#include <string>
#include <vector>

#include "lci/base/status.h"
#include "tools/launcher/hosts.h"

namespace lci::launcher {

struct allocation {
  std::vector<host_slots> hosts;  // empty: no batch system has started this process
  std::string agent;  // how it starts programs on the hosts (agent.h); empty: it has no such way
};

// Reads the variables and files of Slurm, PBS, LSF, Grid Engine and OAR. InvalidArgument names the
// variable or the file, and what is wrong with it.
base::StatusOr<allocation> find_allocation();

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_ALLOCATION_H_
