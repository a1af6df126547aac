// Bootstrap of ranks that share a directory: one file per job, changed under flock.
#ifndef LCI_BOOT_FILE_H_
#define LCI_BOOT_FILE_H_

#include <memory>
#include <string>

#include "lci/base/status.h"
#include "lci/boot/bootstrap.h"

namespace lci::boot {

struct file_options {
  // Directory of the jobs' directories. If empty: lci-UID in the first of $TEST_TMPDIR,
  // $XDG_RUNTIME_DIR, $TMPDIR and /tmp that is a directory this process can write to.
  std::string root;
  std::string job;        // the launcher's name of this job: equal in all ranks, in no other job
  std::string job_id;     // prefix of bootstrap::job_id(); may be empty
  job_position position;  // local_size 0: local rank and size are counted
  bootstrap::duration timeout{};  // for the arrival of the ranks; later the default
};

// Joins the job, and returns when all its ranks have joined.
//
// The ranks of one machine wake each other (futex); ranks on different machines that share the
// directory (NFS and the like) check every few milliseconds. Ranks on the same machine that wait
// for a rank notice its death. The next job removes what dead jobs left in the root.
//
// DeadlineExceeded names the ranks that did not arrive; AlreadyExists if another living process of
// the job is this rank; PermissionDenied if a directory belongs to another user; Aborted and
// Unavailable as in the contract of bootstrap.
base::StatusOr<std::unique_ptr<bootstrap>> open_file_bootstrap(const file_options& options);

}  // namespace lci::boot

#endif  // LCI_BOOT_FILE_H_
