// The names that other launchers (mpirun of Open MPI, mpiexec of MPICH, srun, torchrun) have for
// the options of lcrun, and advice for those that lcrun has no option for. --help omits all of
// them; docs/running.md and lcrun(1) list them.
#ifndef LCI_TOOLS_LAUNCHER_SPELLINGS_H_
#define LCI_TOOLS_LAUNCHER_SPELLINGS_H_

#include <vector>

#include "tools/cli/cli.h"
#include "tools/launcher/options.h"

namespace lci::launcher {

// Other names of options that may differ between the programs of a job.
std::vector<cli::option> program_spellings(program_options* program);
// Other names of options of the whole job.
std::vector<cli::option> job_spellings(launch_options* job);

// Options that lcrun does not have. The refusal of each names its launcher and the replacement.
std::vector<cli::option> foreign_options();

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_SPELLINGS_H_
