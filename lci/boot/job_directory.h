// Directories of the file bootstrap's jobs, and the removal of what dead jobs left.
#ifndef LCI_BOOT_JOB_DIRECTORY_H_
#define LCI_BOOT_JOB_DIRECTORY_H_

#include <string>
#include <utility>
#include <vector>

#include "lci/base/status.h"
#include "lci/boot/file_log.h"
#include "lci/boot/rank_state.h"
#include "lci/io/deadline.h"
#include "lci/io/unique_fd.h"

namespace lci::boot {

//   ROOT/                    $LCI_BOOT_DIR, or lci-UID (0700, owned by this user) in a temporary
//                            directory
//     job-NAME/              one job; 0700, owned by this user; NAME: the launcher and its job name
//       lock                 flock: its holder may create and remove files in this directory
//       round-N              one round (file_log): the job's N-th program with this bootstrap
//
// Nothing is reset in place: a new round is a new file, created under the lock. An old round is
// removed under the lock when all processes that joined it have left or died. (Processes are
// recorded with pid and start time, so that another process with a reused pid does not keep a round
// alive.)
class job_directory {
 public:
  // Opens or creates the directory, and holds its lock. If the directory did not exist, first
  // removes the remains of dead jobs from the root. An empty `root` means the default of
  // file_options. PermissionDenied if a path on the way belongs to another user or is writable by
  // one.
  static base::StatusOr<job_directory> open_locked(const std::string& root, const std::string& job,
                                                   io::steady::time_point deadline);

  job_directory(job_directory&&) = default;

  // The latest round of the only job in `root`, for an observer, without the lock: it may be
  // removed meanwhile. NotFound if there is none, or several jobs.
  static base::StatusOr<file_log> open_latest_round(const std::string& root);

  // Highest number of a round here; -1 if there is none. Needs the lock.
  int latest_round() const;
  static std::string round_name(int number);
  int fd() const { return directory_.get(); }

  // Takes the lock again, after unlock(). NotFound if the directory has been removed meanwhile.
  base::Status lock(io::steady::time_point deadline);
  void unlock();

  // Removes rounds that are no longer used, and the directory if none is left. Needs the lock.
  void remove_finished();

 private:
  job_directory(io::unique_fd root, std::string name)
      : root_(std::move(root)), name_(std::move(name)) {}
  void sweep_siblings() const;

  io::unique_fd root_;
  std::string name_;
  io::unique_fd directory_;
  io::unique_fd lock_;  // held while open
};

// Whether the round is unused for good: all processes that joined have left or died. (Only the
// creator of a round, under the lock, can see it without members.)
bool is_finished(file_log* round);

// A launcher's view of a job whose ranks use the file bootstrap: the states of the ranks of the
// only job in the directory `root` (LCI_BOOT_DIR), by rank, in its latest round. Empty if there is
// none: no rank has joined yet, or all have finished, or the files cannot be read. Waits at most a
// second for ranks that write.
std::vector<rank_state> look_at_file_job(const std::string& root);

}  // namespace lci::boot

#endif  // LCI_BOOT_JOB_DIRECTORY_H_
