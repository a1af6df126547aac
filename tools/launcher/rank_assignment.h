// The ranks of one host, and what is needed to start them.
#ifndef LCI_TOOLS_LAUNCHER_RANK_ASSIGNMENT_H_
#define LCI_TOOLS_LAUNCHER_RANK_ASSIGNMENT_H_

#include <string>
#include <tuple>
#include <vector>

#include "tools/launcher/options.h"

namespace lci::launcher {

// One program of a job. Its ranks are consecutive; the next program has the ranks after them.
struct program_plan {
  int first_rank = 0;
  std::vector<std::string> command;
  std::string wdir;                      // empty: lcrun's directory, if there are no helpers
  std::vector<std::string> environment;  // NAME=VALUE, added for its ranks
  std::string file;                      // on this host; empty: no rank of this host runs it
  // The fields that another host gets (lci/io/record.h).
  static constexpr auto fields = std::make_tuple(&program_plan::first_rank, &program_plan::command,
                                                 &program_plan::wdir, &program_plan::environment);
};

struct rank_assignment {
  std::string host;
  std::string mark;                      // orphan_reaper.h
  std::vector<program_plan> programs;    // of the job; those of this host's ranks have a file
  std::vector<std::string> environment;  // NAME=VALUE; those of the program are added,
  std::vector<std::string> own;          // then these, then those of the rank
  std::vector<int> ranks;                // ascending
  int stdin_rank = launch_options::no_rank;
  binding bind_to = binding::none;
  mapping map_by = mapping::slot;
  bool report_bindings = false;
  // The fields that another host gets.
  static constexpr auto fields = std::make_tuple(
      &rank_assignment::mark, &rank_assignment::programs, &rank_assignment::environment,
      &rank_assignment::own, &rank_assignment::ranks, &rank_assignment::stdin_rank,
      &rank_assignment::bind_to, &rank_assignment::map_by, &rank_assignment::report_bindings);
};

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_RANK_ASSIGNMENT_H_
