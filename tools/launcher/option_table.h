// The options of lcrun, one entry each: the command line, the LCRUN_* variables, the help and the
// completion for shells all come from here.
#ifndef LCI_TOOLS_LAUNCHER_OPTION_TABLE_H_
#define LCI_TOOLS_LAUNCHER_OPTION_TABLE_H_

#include <string>
#include <string_view>
#include <vector>

#include "lci/base/status.h"
#include "tools/launcher/options.h"

namespace lci::launcher {

// Applies `text` to the last program of `options`, or to the job. `source` is the place of the
// text: "--timeout" or "LCRUN_TIMEOUT".
using apply_function = base::Status (*)(std::string_view source, std::string_view text,
                                        launch_options& options);

struct option_spec {
  const char* name;
  char letter;        // 0: none
  const char* value;  // its name in the help; nullptr: a switch
  const char* help;   // help_text() indents the lines after the first
  apply_function apply;
  bool per_program = false;  // may differ between the programs of a job
  bool repeats = false;      // the variable contains several values, separated by ';'
};

const std::vector<option_spec>& option_specs();

// LCRUN_ and the name in capitals.
std::string variable_of(const option_spec& spec);

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_OPTION_TABLE_H_
