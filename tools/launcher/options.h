#ifndef LCI_TOOLS_LAUNCHER_OPTIONS_H_
#define LCI_TOOLS_LAUNCHER_OPTIONS_H_

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "lci/base/status.h"

namespace lci::launcher {

enum class binding { none, core, numa, socket };
// The order in which ranks are placed: slot and core fill host after host, node deals the ranks to
// the hosts in turn; numa and socket fill host after host, and deal the ranks of a host in turn.
enum class mapping { slot, core, numa, socket, node };
enum class bootstrap_kind { file, tcp };

// One program of a job. A variable LCRUN_* applies to every program, an option to its own.
struct program_options {
  int ranks = 0;                     // 0: not said
  std::vector<std::string> exports;  // -x, in order: NAME or NAME=VALUE
  std::string wdir;                  // empty: the directory lcrun was started in
  std::vector<std::string> command;  // the program and its arguments
};

// The request of the user: the LCRUN_* variables, then the command line, which wins.
struct launch_options {
  static constexpr int no_rank = -1;

  // At least one; the ranks are numbered through in this order. Where there are several, each says
  // its number of ranks, except on the hosts above 0 that are started by hand.
  std::vector<program_options> programs = std::vector<program_options>(1);
  std::vector<std::string> exports;  // as of a program, for all of them; each may replace one
  bool label = false;
  bool timestamp = false;                // of each line of output
  std::string output_dir;                // empty: none
  int stdin_rank = 0;                    // or no_rank
  std::chrono::milliseconds timeout{0};  // 0: none
  std::chrono::milliseconds grace{5000};
  std::optional<binding> bind_to;  // not said: binding_of()
  mapping map_by = mapping::slot;
  bool report_bindings = false;
  bool oversubscribe = false;  // no warning of more ranks than processors
  bootstrap_kind boot = bootstrap_kind::tcp;
  std::string host_file;     // the last of this and
  std::string host_list;     // this one counts, the other is empty
  int per_host = 0;          // ranks; 0: not said
  int nodes = 0;             // hosts; 0: not said
  std::string agent;         // empty: agent.h's default
  std::string remote_lcrun;  // empty: this lcrun's path
  std::string interface;     // empty: all
  std::string report_uri;    // a file, or "-"
  int node_rank = -1;        // -1: hosts are not started by hand
  std::string endpoint;      // host:port, or a file that --report-uri has written
  int fan_out = 32;          // hosts that one lcrun starts
  std::chrono::milliseconds host_timeout{30000};
  std::chrono::milliseconds start_timeout{60000};
  bool dry_run = false;
  bool verbose = false;
  bool version = false;
  bool help = false;  // with it or with version, programs may lack a command
};

// --bind-to; if it is not said, core, numa or socket where --map-by says so, else none.
binding binding_of(const launch_options& options);

// Reads LCRUN_* from `environment` (as of main) and then the arguments. Options end at the first
// argument that is none, or after "--". The words from there to a word ":" belong to the program,
// and the options of the next program follow that word. After "--", ":" is an argument like others.
// InvalidArgument names the option or the variable, the bad value and what is accepted. Not
// thread-safe (getopt).
base::StatusOr<launch_options> parse_options(int argc, char* const* argv, char* const* environment);

// The LCRUN_* variables that `environment` holds and no option knows: most likely a slip of the
// pen.
std::vector<std::string> unknown_variables(char* const* environment);

std::string help_text();

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_OPTIONS_H_
