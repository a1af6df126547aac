#ifndef LCI_TOOLS_LAUNCHER_OPTIONS_H_
#define LCI_TOOLS_LAUNCHER_OPTIONS_H_

#include <chrono>
#include <string>
#include <vector>

#include "lci/base/status.h"

namespace lci::launcher {

enum class binding { none, core };
enum class bootstrap_kind { file, tcp };

// What the user asked for: the LCRUN_* variables, then the command line, which wins.
struct launch_options {
  static constexpr int no_rank = -1;

  int ranks = 0;                     // 0: not said
  std::vector<std::string> exports;  // -x, in order: NAME or NAME=VALUE
  std::string wdir;                  // empty: the directory lcrun was started in
  bool label = false;
  std::string output_dir;                // empty: none
  int stdin_rank = 0;                    // or no_rank
  std::chrono::milliseconds timeout{0};  // 0: none
  std::chrono::milliseconds grace{5000};
  binding bind_to = binding::none;
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
  bool help = false;
  std::vector<std::string>
      command;  // the program and its arguments; empty only with version or help
};

// Reads LCRUN_* from `environment` (as of main) and then the arguments. Options end at the first
// argument that is none, or after "--"; what follows is the program's and is not looked at.
// InvalidArgument names the option or the variable, the bad value and what is accepted. Not
// thread-safe (getopt).
base::StatusOr<launch_options> parse_options(int argc, char* const* argv, char* const* environment);

// The LCRUN_* variables that `environment` holds and no option knows: most likely a slip of the
// pen.
std::vector<std::string> unknown_variables(char* const* environment);

std::string help_text();

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_OPTIONS_H_
