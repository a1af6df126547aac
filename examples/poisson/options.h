// The command line, which the programs over all transports have.
#ifndef EXAMPLES_POISSON_OPTIONS_H_
#define EXAMPLES_POISSON_OPTIONS_H_

#include <stdexcept>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "examples/poisson/decomposition.h"
#include "examples/poisson/transforms.h"

namespace poisson {

struct options {
  grid_size grid = {64, 64, 64};
  int iterations = 20;
  int slabs = 4;
  double contrast = 0.3;
  absl::optional<process_grid> processes;  // else chosen from the number of ranks
  planning plan = planning::measure;
  std::string mode;
  bool check = false;
  bool report = false;
  bool json = false;
};

// One way to communicate, of which a program offers some.
struct mode {
  std::string name;
  std::string meaning;
};

// The command line is wrong; the message says how.
class usage_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Reads the command line. The first of `modes` is the default. Throws usage_error. Sets *help if
// the user asked for it; the result then means nothing. Not thread-safe (getopt).
options parse_options(int argc, char** argv, const std::vector<mode>& modes, bool* help);

// What --help prints; `start` is how the program is started.
std::string help_text(const std::string& start, const std::vector<mode>& modes);

}  // namespace poisson

#endif  // EXAMPLES_POISSON_OPTIONS_H_
