// The options of lcrun, one row each. The command line, the LCRUN_* variables, --help and the
// completion for shells use these tables.
#ifndef LCI_TOOLS_LAUNCHER_OPTION_TABLE_H_
#define LCI_TOOLS_LAUNCHER_OPTION_TABLE_H_

#include <vector>

#include "tools/cli/cli.h"
#include "tools/launcher/options.h"

namespace lci::launcher {

// Options that may differ between the programs of a job. They refer to `program`.
std::vector<cli::option> program_option_table(program_options* program);
// Options of the whole job. They refer to `job`.
std::vector<cli::option> job_option_table(launch_options* job);

// Accepts NAME and NAME=VALUE. The text contains several if `separator` is not 0.
cli::value exports(std::vector<std::string>* to, char separator);

// Accepts the name of a file or a list of hosts. The source of the hosts that is given last counts:
// `other` becomes empty.
cli::value hosts(std::string* to, std::string* other);

constexpr uint64_t max_ranks = 1000000;

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_OPTION_TABLE_H_
