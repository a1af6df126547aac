#ifndef LCI_TOOLS_LAUNCHER_OPTIONS_H_
#define LCI_TOOLS_LAUNCHER_OPTIONS_H_

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "lci/base/status.h"
#include "tools/cli/cli.h"
#include "tools/launcher/report_directory.h"

namespace lci::launcher {

enum class binding { none, core, numa, socket };
// The order in which ranks are placed: slot and core fill host after host, node deals the ranks to
// the hosts in turn; numa and socket fill host after host, and deal the ranks of a host in turn.
enum class mapping { slot, core, numa, socket, node };
enum class bootstrap_kind { file, tcp };

// One program of a job. A variable LCRUN_* applies to every program, an option to its own.
struct program_options {
  int ranks = 0;                     // 0: not given
  std::vector<std::string> exports;  // NAME or NAME=VALUE, in order; the last of a name counts
  std::string wdir;                  // empty: the directory lcrun was started in
  std::vector<std::string> command;  // the program and its arguments
};

// The request of the user: the LCRUN_* variables, and the command line, which takes precedence.
struct launch_options {
  static constexpr int no_rank = -1;

  cli::request wanted = cli::request::run;  // if help or version, the rest may be incomplete
  // At least one; the ranks are numbered through in this order. If there are several, each has its
  // number of ranks, except on the hosts above 0 that are started by hand.
  std::vector<program_options> programs = std::vector<program_options>(1);
  std::vector<std::string> exports;  // of all programs; parse_options() adds them to each
  bool stats = false;                // parse_options() adds LCI_STATS=1 to each
  bool label = false;
  bool timestamp = false;                // of each line of output
  std::string output_dir;                // empty: none
  int stdin_rank = 0;                    // or no_rank
  std::chrono::milliseconds timeout{0};  // 0: none
  std::chrono::milliseconds grace{5000};
  std::optional<binding> bind_to;  // not given: binding_of()
  mapping map_by = mapping::slot;
  bool report_bindings = false;
  bool oversubscribe = false;  // no warning of more ranks than processors
  bootstrap_kind boot = bootstrap_kind::tcp;
  std::string host_file;     // at most one of host_file and
  std::string host_list;     // host_list is not empty: the one that was given last
  int per_host = 0;          // ranks; 0: not given
  int nodes = 0;             // hosts; 0: not given
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
  bool report = false;     // print the report of a job that runs; no program is started
  std::string report_job;  // its id; empty: the only job
  launcher::report_request report_request = launcher::report_request::text;
  std::string report_dir;  // of the sockets for reports; empty: report_directory's default
  bool verbose = false;
};

// --bind-to; if it is not given, core, numa or socket if --map-by is that, else none.
binding binding_of(const launch_options& options);

// Reads LCRUN_* from `environment` (as of main) and then the arguments. The options end at the
// first word that is none, or after "--". The words from there to a word ":" are the program and
// its arguments, and the options of the next program follow the ":". After "--", ":" is an argument
// like others. Returns InvalidArgument with the option or the variable, the wrong value and what is
// allowed.
base::StatusOr<launch_options> parse_options(int argc, const char* const* argv,
                                             const char* const* environment);

// The variables LCRUN_* in `environment` that belong to no option.
std::vector<std::string> unknown_variables(const char* const* environment);

// The texts of --help and --version.
std::string help_text();
std::string version_text();

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_OPTIONS_H_
