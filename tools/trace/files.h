#ifndef LCI_TOOLS_TRACE_FILES_H_
#define LCI_TOOLS_TRACE_FILES_H_

#include <string>
#include <vector>

#include "lci/base/status.h"
#include "lci/observe/recording.h"

namespace lci::trace {

// The recordings of one job, by rank.
struct job_recordings {
  std::vector<observe::recording> ranks;
  std::vector<std::string> unreadable;  // why, of each file that could not be read
};

// Reads the files, and those in the directories whose names end with ".lcirec". `job`: those of
// this job, by its id or the beginning of it; empty: of the only one. The error says that there are
// none, that they are of several jobs (and which), or that two are of one rank.
base::StatusOr<job_recordings> read_job(const std::vector<std::string>& paths,
                                        const std::string& job);

}  // namespace lci::trace

#endif  // LCI_TOOLS_TRACE_FILES_H_
