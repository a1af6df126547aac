// The command line, which the programs over all transports have.
#ifndef EXAMPLES_POISSON_OPTIONS_H_
#define EXAMPLES_POISSON_OPTIONS_H_

#include <optional>
#include <string>
#include <vector>

#include "examples/poisson/decomposition.h"
#include "examples/poisson/transforms.h"
#include "tools/cli/cli.h"

namespace poisson {

namespace cli = lci::cli;
using cli::usage_error;

struct options {
  grid_size grid = {64, 64, 64};
  int iterations = 20;
  int slabs = 4;
  double contrast = 0.3;
  std::optional<process_grid> processes;  // else chosen from the number of ranks
  planning plan = planning::measure;
  std::string mode;
  bool check = false;
  bool report = false;
  bool json = false;
};

// One way to communicate. A program offers one or several.
struct mode {
  std::string name;
  std::string meaning;
};

// Reads the command line. The first of `modes` is the default. Throws usage_error. Sets *help if
// the user asked for it; the result then means nothing.
options parse_options(int argc, char** argv, const std::vector<mode>& modes, bool* help);

// The output of --help; `start` is the command that starts the program.
std::string help_text(const std::string& start, const std::vector<mode>& modes);

}  // namespace poisson

#endif  // EXAMPLES_POISSON_OPTIONS_H_
