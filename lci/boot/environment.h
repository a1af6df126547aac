// What launchers tell the processes they start.
#ifndef LCI_BOOT_ENVIRONMENT_H_
#define LCI_BOOT_ENVIRONMENT_H_

#include <optional>
#include <string>

#include "lci/base/status.h"
#include "lci/boot/bootstrap.h"

namespace lci::boot {

struct launch {
  std::string launcher;   // for people: "lcrun", "Slurm", ...
  job_position position;  // local_size 0: the launcher does not say local rank and size
  // Equal in all ranks of this job on this machine, in no other job: [A-Za-z0-9_.-], at most 64.
  std::string job;
  bool job_is_global = false;  // `job` is equal on all machines of the job
  bool several_nodes = false;  // the launcher says that the job has more than one machine
};

// nullopt if no launcher that we know (environment.cc has the table) has started this process.
//
// InvalidArgument if one has, but its variables do not say rank and size, or make no sense: which,
// and what to set instead.
base::StatusOr<std::optional<launch>> read_launch();

}  // namespace lci::boot

#endif  // LCI_BOOT_ENVIRONMENT_H_
