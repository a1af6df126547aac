// No process of a job outlives it: the marked environment, and the guard.
//
// Every process of a job has LCI_JOB_NODE=<id>.<host's number> in the environment that it was
// started with, and so has whatever it starts, however often that forks, changes its session or is
// left behind. (The number: two hosts of a job may be one machine.) lcrun adopts what its ranks
// leave behind (PR_SET_CHILD_SUBREAPER), so as long as it lives it knows whether anything is left.
// Against its own death by SIGKILL there are two means: the ranks themselves ask the kernel to die
// with it (PR_SET_PDEATHSIG), and the guard, a process that only waits for lcrun's end of a pipe to
// close, looks through /proc for the mark. Then the guard also removes the directory of the job.
#ifndef LCI_TOOLS_LAUNCHER_GUARD_H_
#define LCI_TOOLS_LAUNCHER_GUARD_H_

#include <sys/types.h>

#include <string>

namespace lci::launcher {

// LCI_JOB_NODE=<id>.<node>
std::string mark_of(const std::string& job_id, int node);

// Sends `signal` to every process (of ours) that has `mark` in its environment, this one excepted.
// Returns how many there were.
int signal_marked(const std::string& mark, int signal);

// SIGKILLs them until there is none, so that none slips away by forking.
void end_marked(const std::string& mark);

// Removes a directory and everything in it, as far as it can; links are not followed.
void remove_tree(const std::string& directory);

class guard {
 public:
  // Starts it; before the first rank, so that no rank holds its pipe. If this process is killed,
  // the guard removes `directory` with its files, after the processes have ended; empty: none.
  // Start it before the directory is made, so that there is always somebody to remove it. False if
  // there is no process to be had.
  bool start(const std::string& mark, const std::string& directory);
  // The job ended in order: the guard goes without looking.
  void dismiss();
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  int pipe_ = -1;
};

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_GUARD_H_
