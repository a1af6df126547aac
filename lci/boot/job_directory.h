// Where the jobs of the file bootstrap have their files, and how the remains of dead ones go.
#ifndef LCI_BOOT_JOB_DIRECTORY_H_
#define LCI_BOOT_JOB_DIRECTORY_H_

#include <string>
#include <string_view>
#include <utility>

#include "lci/base/status.h"
#include "lci/boot/deadline.h"
#include "lci/boot/file_log.h"
#include "lci/boot/socket.h"

namespace lci::boot {

//   ROOT/                    $LCI_BOOT_DIR, or lci-UID (0700, ours) in a temporary directory
//     job-NAME/              one job; 0700, ours; NAME says which launcher's and which of its jobs
//       lock                 flock: who holds it may create and remove what is in here
//       round-N              one round (file_log): the job's N-th program with this bootstrap
//
// Nothing is reset in place: a new round is a new file, made under the lock, and an old one is
// removed under the lock when all processes that joined it have left or died. (Those are recorded
// with pid and start time, so that another process that got the pid does not keep them alive.)
class job_directory {
 public:
  // Opens or makes it, and holds its lock. If it was not there, removes the remains of dead jobs in
  // the root first. With an empty `root`, the default of file_options. PermissionDenied if
  // something in the way belongs to another user or can be written by one.
  static base::StatusOr<job_directory> open_locked(const std::string& root, const std::string& job,
                                                   steady::time_point deadline);

  job_directory(job_directory&&) = default;

  // Highest number of a round here; -1 if there is none. Under the lock.
  int latest_round() const;
  static std::string round_name(int number);
  int fd() const { return directory_.get(); }

  // Takes the lock again, after unlock(). NotFound if the directory has been removed meanwhile.
  base::Status lock(steady::time_point deadline);
  void unlock();

  // Removes rounds that nobody uses any more, and the directory if none is left. Under the lock.
  void remove_finished();

 private:
  job_directory(unique_fd root, std::string name)
      : root_(std::move(root)), name_(std::move(name)) {}
  void sweep_siblings() const;

  unique_fd root_;
  std::string name_;
  unique_fd directory_;
  unique_fd lock_;  // held while open
};

// Whether nobody uses the round any more, and nobody will: all that joined have left or died. (One
// that was just created, with nobody in it, can only be seen under the lock by its creator.)
bool is_finished(file_log* round);

}  // namespace lci::boot

#endif  // LCI_BOOT_JOB_DIRECTORY_H_
