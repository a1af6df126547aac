// Ends all processes of a job with the job, even if lcrun is killed.
//
// Every process of a job has the mark LCI_JOB_NODE=<id>.<host's number> in the environment that it
// was started with. All descendants inherit the mark, even if they fork, change their session or
// lose their parent. (The number distinguishes two hosts of a job on one machine.) lcrun is the
// subreaper of its ranks (PR_SET_CHILD_SUBREAPER), so that it knows whether they have left
// processes behind. Two mechanisms end the processes if lcrun dies by SIGKILL: the kernel kills the
// ranks with their parent (PR_SET_PDEATHSIG), and the orphan reaper, a process that waits until
// lcrun's end of a pipe is closed, kills every process in /proc with the mark. The reaper then also
// removes the directory of the job.
#ifndef LCI_TOOLS_LAUNCHER_ORPHAN_REAPER_H_
#define LCI_TOOLS_LAUNCHER_ORPHAN_REAPER_H_

#include <sys/types.h>

#include <string>

#include "lci/io/unique_fd.h"

namespace lci::launcher {

// LCI_JOB_NODE=<id>.<node>
std::string mark_of(const std::string& job_id, int node);

// Kills every other process of this user with `mark` in its environment, until none is left, so
// that none escapes by forking.
void end_marked(const std::string& mark);

// Removes a directory and its contents as far as possible. Does not follow links.
void remove_tree(const std::string& directory);

class orphan_reaper {
 public:
  // Starts the reaper. Call before the first rank starts, so that no rank inherits the pipe, and
  // before `directory` is made, so that the directory is always removed. If this process is killed,
  // the reaper removes `directory` after the processes have ended; empty: none. Returns false if no
  // process can be created.
  bool start(const std::string& mark, const std::string& directory);
  // Ends the reaper without a search for processes, because the job has ended in order.
  void dismiss();

 private:
  pid_t pid_ = -1;
  io::unique_fd pipe_;
};

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_ORPHAN_REAPER_H_
