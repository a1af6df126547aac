#ifndef LCI_TOOLS_LAUNCHER_PLAN_H_
#define LCI_TOOLS_LAUNCHER_PLAN_H_

#include <string>
#include <vector>

#include "lci/base/status.h"
#include "tools/launcher/options.h"
#include "tools/launcher/rank_assignment.h"
#include "tools/launcher/topology.h"

namespace lci::launcher {

// The only argument of an lcrun that is a helper (helper.h).
inline constexpr char helper_argument[] = "--lcrun-helper";

// The plan of a job, made before anything is started. --dry-run prints it.

struct host_plan {
  std::string name;
  std::vector<int> ranks;          // ascending
  std::vector<std::string> start;  // the command that starts the helper; empty: started by hand
};

// Returns the program that `rank` runs.
const program_plan& program_of(const std::vector<program_plan>& programs, int rank);

struct job_plan {
  std::string id;     // random; in the environment of every process of the job
  std::string token;  // the secret of the bootstrap: random, or LCI_BOOT_TOKEN (by hand)
  std::vector<program_plan> programs;    // at least one, in the order of their ranks
  std::vector<std::string> environment;  // NAME=VALUE of lcrun, for a job without helpers
  std::vector<std::string> sent;         // NAME=VALUE that helpers add to their own
  std::vector<std::string> own;          // NAME=VALUE that no option overrides
  int ranks = 0;
  std::vector<int> host_of;  // by rank: the index into hosts
  int stdin_rank = 0;        // or launch_options::no_rank
  // At least one, each with ranks. lcrun itself starts the ranks if this machine is the only host
  // and no agent is given; else each host has a helper.
  std::vector<host_plan> hosts;
  bool helpers = false;
};

// The hosts that host `node` starts. lcrun starts the first `fan_out` hosts, the first of these
// starts the next `fan_out` hosts, and so on.
std::vector<size_t> children_of(const job_plan& job, size_t node, int fan_out);

// lcrun's exit code for an error of make_plan() or find_programs(), as a shell's: 127 for a program
// that is not found, 126 for one that cannot be run, 2 for anything else.
int exit_code_of(const base::Status& error);

// Returns NotFound or PermissionDenied if the program or the directory cannot be used on this host,
// and InvalidArgument if options contradict each other or the environment.
base::StatusOr<job_plan> make_plan(const launch_options& options, char* const* environment);

// One rank of an assignment.
struct rank_plan {
  int rank = 0;
  const program_plan* program = nullptr;  // of the assignment
  std::vector<int> processors;            // empty: not bound
  std::vector<std::string> environment;   // complete
};
rank_plan plan_rank(const rank_assignment& assigned, int local_rank, const topology& host);

// The processors of this host, if `assigned` needs them; else none.
topology topology_for(const rank_assignment& assigned);

// The assignment of host `node`. Its ranks reach the bootstrap server at `boot_address`; empty:
// there is none.
rank_assignment assignment_of(const job_plan& job, const launch_options& options, size_t node,
                              const std::string& boot_address);

// Whether an assignment from another host is consistent: ascending ranks, a program for each,
// values in their range.
bool is_valid(const rank_assignment& assigned);

// Completes an assignment from another host: names this host, and adds the variables of this
// process that the assignment does not set.
void complete(rank_assignment* assigned);

// Finds the files of the programs that ranks of `assigned` run, and sets their `file`. NotFound or
// PermissionDenied names the program or the directory.
base::Status find_programs(rank_assignment* assigned);

// Returns the file that a shell in `wdir` would run for this name, or NotFound or PermissionDenied.
base::StatusOr<std::string> find_program(const std::string& name, const std::string& wdir);

// Adds `assignment`, NAME=VALUE, or replaces the value of NAME.
void set_variable(std::vector<std::string>* environment, const std::string& assignment);
void set_variables(std::vector<std::string>* environment,
                   const std::vector<std::string>& assignments);

// LCI_BOOT_TOKEN, the secret of hosts that are started by hand; empty if not set.
base::StatusOr<std::string> token_by_hand();
// The same, where it must be set: for hosts that meet at an address.
base::StatusOr<std::string> required_token_by_hand();

std::string describe(const job_plan& job, const launch_options& options);

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_PLAN_H_
