#ifndef LCI_TOOLS_LAUNCHER_PLAN_H_
#define LCI_TOOLS_LAUNCHER_PLAN_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/launcher/options.h"

namespace lci::launcher {

// What is to be started, worked out before anything is: --dry-run prints it.
struct rank_plan {
  int rank = 0;
  std::vector<int> cores;                // empty: not bound
  std::vector<std::string> environment;  // NAME=VALUE, what this rank has besides the job's
};

struct job_plan {
  std::string id;       // random; in the environment of every process of the job
  std::string token;    // random; what a rank shows to the rendezvous
  std::string host;     // this machine's name, for messages
  std::string program;  // the file that will run
  std::vector<std::string> command;
  std::string wdir;
  std::vector<std::string> environment;  // NAME=VALUE for all ranks, ours included
  std::vector<rank_plan> ranks;
};

// NotFound or PermissionDenied if the program or the directory can't be used; InvalidArgument for a
// variable to be passed on that is not set.
absl::StatusOr<job_plan> make_plan(const launch_options& options, char* const* environment);

// The environment of one rank, whole.
std::vector<std::string> full_environment(const job_plan& job, const rank_plan& rank);

std::string describe(const job_plan& job);

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_PLAN_H_
