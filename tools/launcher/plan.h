#ifndef LCI_TOOLS_LAUNCHER_PLAN_H_
#define LCI_TOOLS_LAUNCHER_PLAN_H_

#include <string>
#include <vector>

#include "lci/base/status.h"
#include "tools/launcher/options.h"
#include "tools/launcher/topology.h"

namespace lci::launcher {

// lcrun's only argument where it is a helper (helper.h).
inline constexpr char helper_argument[] = "--lcrun-helper";

// What is to be started, worked out before anything is: --dry-run prints it.

struct host_plan {
  std::string name;
  std::vector<int> ranks;          // ascending
  std::vector<std::string> start;  // the command that starts a helper there; empty: by hand
};

// One program of a job. Its ranks follow each other, and end where the next program begins.
struct program_plan {
  int first_rank = 0;
  std::vector<std::string> command;
  std::string file;                      // that will run here; empty: no rank runs it here
  std::string wdir;                      // empty: where lcrun is; never with helpers
  std::vector<std::string> environment;  // NAME=VALUE, added for its ranks
};
// The one of `programs` that `rank` runs.
const program_plan& program_of(const std::vector<program_plan>& programs, int rank);

struct job_plan {
  std::string id;     // random; in the environment of every process of the job
  std::string token;  // what a rank shows to the rendezvous: random, or LCI_BOOT_TOKEN (by hand)
  std::vector<program_plan> programs;    // at least one, in the order of their ranks
  std::vector<std::string> environment;  // NAME=VALUE of lcrun, for a job without helpers
  std::vector<std::string> sent;         // NAME=VALUE that helpers add to their own
  std::vector<std::string> own;          // NAME=VALUE that no option overrides
  int ranks = 0;
  std::vector<int> host_of;  // by rank: the index into hosts
  int stdin_rank = 0;        // or launch_options::no_rank
  // At least one, each with ranks. Where there is one, which is this machine, and no agent is asked
  // for, its ranks are started by lcrun itself; else each host has a helper.
  std::vector<host_plan> hosts;
  bool helpers = false;
};

// NotFound or PermissionDenied if the program or the directory can't be used here; InvalidArgument
// for what the options ask for and does not fit together or to the environment.
base::StatusOr<job_plan> make_plan(const launch_options& options, char* const* environment);

// The ranks of one host, for who starts them there.
struct share {
  std::string host;
  std::vector<program_plan> programs;    // of the job; those that run here have a file
  std::vector<std::string> environment;  // NAME=VALUE, to which those of programs are added,
  std::vector<std::string> own;          // and then these, and those of one rank
  std::string mark;                      // guard.h
  std::vector<int> ranks;                // ascending
  int stdin_rank = launch_options::no_rank;
  binding bind_to = binding::none;
  mapping map_by = mapping::slot;
  bool report_bindings = false;
};

// One rank of a share.
struct rank_plan {
  int rank = 0;
  const program_plan* program = nullptr;  // of the share
  std::vector<int> processors;            // empty: not bound
  std::vector<std::string> environment;   // whole
};
rank_plan plan_rank(const share& share, int local_rank, const topology& host);

// The processors of this host, if `share` needs them; else none.
topology topology_for(const share& share);

// The share of a job without helpers.
share own_share(const job_plan& job, const launch_options& options);

// Finds the files of the programs that ranks of `share` run; sets their `file`. NotFound or
// PermissionDenied names the program or the directory.
base::Status find_programs(share* share);

// The file that a shell in `wdir` would run for this name. NotFound, PermissionDenied.
base::StatusOr<std::string> find_program(const std::string& name, const std::string& wdir);

// NAME=VALUE of `assignment` replaces NAME's value or is added.
void set_variable(std::vector<std::string>* environment, const std::string& assignment);

std::string host_name();

// LCI_BOOT_TOKEN, which hosts that are started by hand show each other; empty if not set.
base::StatusOr<std::string> token_by_hand();

std::string describe(const job_plan& job, const launch_options& options);

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_PLAN_H_
