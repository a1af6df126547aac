// The names that other launchers (mpirun of Open MPI, mpiexec of MPICH, srun, torchrun) have for
// the options of lcrun, and advice for those that lcrun has no option for.
#ifndef LCI_TOOLS_LAUNCHER_SPELLINGS_H_
#define LCI_TOOLS_LAUNCHER_SPELLINGS_H_

#include <string_view>
#include <vector>

#include "lci/base/status.h"
#include "tools/launcher/options.h"

namespace lci::launcher {

// Applies the words that follow a spelling to `options`.
using words_function = base::Status (*)(std::string_view source,
                                        const std::vector<std::string_view>& words,
                                        launch_options& options);

// Another name of an option. It has one dash or two, as every option.
struct spelling {
  const char* name;
  char letter;                     // 0: none
  const char* option;              // the name in option_specs()
  int values;                      // words that follow: 0 to 2. Of two, "NAME=VALUE" replaces both.
  words_function apply = nullptr;  // nullptr: as the option, which then has values or not as well
  bool whole_job = false;          // although `option` applies to a program
};
const std::vector<spelling>& spellings();

// Options of other launchers that lcrun does not have.
struct foreign_option {
  const char* names;     // without dashes, separated by spaces; one letter: with one dash only
  const char* launcher;  // whose they are
  const char* advice;    // for the user: the replacement
};
const std::vector<foreign_option>& foreign_options();

// InvalidArgument with the advice, if `word` is an option of another launcher that lcrun lacks.
base::Status check_foreign(std::string_view word);

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_SPELLINGS_H_
