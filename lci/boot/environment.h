// Reads the variables that launchers set for the processes they start.
#ifndef LCI_BOOT_ENVIRONMENT_H_
#define LCI_BOOT_ENVIRONMENT_H_

#include <optional>
#include <string>

#include "lci/base/status.h"
#include "lci/boot/bootstrap.h"

namespace lci::boot {

struct launch {
  std::string launcher;   // for messages: "lcrun", "Slurm", ...
  job_position position;  // local_size 0: the launcher does not give local rank and size
  // Equal in all ranks of this job on this machine, different in other jobs: [A-Za-z0-9_.-], at
  // most 64 characters.
  std::string job;
  bool job_is_global = false;  // `job` is equal on all machines of the job
  bool several_nodes = false;  // the job has more than one machine
};

// Returns nullopt if no known launcher (environment.cc has the table) has started this process.
//
// InvalidArgument if the variables of a launcher are set, but rank or size is missing or invalid.
// The message names the variable and what to set instead.
base::StatusOr<std::optional<launch>> read_launch();

}  // namespace lci::boot

#endif  // LCI_BOOT_ENVIRONMENT_H_
