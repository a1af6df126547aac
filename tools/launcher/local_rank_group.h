#ifndef LCI_TOOLS_LAUNCHER_LOCAL_RANK_GROUP_H_
#define LCI_TOOLS_LAUNCHER_LOCAL_RANK_GROUP_H_

#include <memory>
#include <string>

#include "lci/io/event_loop.h"
#include "tools/launcher/plan.h"
#include "tools/launcher/rank_group.h"

namespace lci::launcher {

struct local_rank_group_options {
  // Where the ranks write: to the output of this process, to pipes that this process reads, or to
  // files.
  enum class capture { none, pipes, files } output = capture::none;
  std::string output_dir;       // with files
  std::string boot_dir;         // made for the job, and removed at its end; empty: none
  int stdin_fd = -1;            // what the stdin rank reads; -1: standard input
  bool other_children = false;  // this process has other children, and reaps all children
  bool verbose = false;
};

// Makes the group of the ranks that are children of this process. The caller blocks SIGCHLD and
// calls child_ended() for children that have ended.
std::unique_ptr<rank_group> make_local_rank_group(io::event_loop* loop, rank_group::events* to,
                                                  rank_assignment assigned,
                                                  const local_rank_group_options& options);

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_LOCAL_RANK_GROUP_H_
