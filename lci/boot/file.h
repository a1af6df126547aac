// The bootstrap of ranks that share a directory: one file a job, changed under flock.
#ifndef LCI_BOOT_FILE_H_
#define LCI_BOOT_FILE_H_

#include <memory>
#include <string>

#include "lci/base/status.h"
#include "lci/boot/bootstrap.h"

namespace lci::boot {

struct file_options {
  // Where jobs have their directories. If empty: lci-UID in the first of $TEST_TMPDIR,
  // $XDG_RUNTIME_DIR, $TMPDIR and /tmp that is a directory this process can write to.
  std::string root;
  std::string job;        // what the launcher calls this job; equal in all ranks, in no other job
  std::string job_id;     // what bootstrap::job_id() begins with; may be empty
  job_position position;  // with local_size 0, local rank and size are counted
  bootstrap::duration timeout{};  // for the ranks to arrive, and later the default
};

// Joins, and returns when all ranks of the job have done so.
//
// The ranks of one machine wake each other (futex); ranks on other machines that share the
// directory (NFS and the like) look every few milliseconds. A rank that dies is noticed by those on
// its machine that wait for it. What dead jobs left in the root is removed by the next job there.
//
// DeadlineExceeded names the ranks that did not come; AlreadyExists if another living process of
// the job is this rank; PermissionDenied if a directory belongs to somebody else; Aborted and
// Unavailable as in the contract of bootstrap.
base::StatusOr<std::unique_ptr<bootstrap>> open_file_bootstrap(const file_options& options);

}  // namespace lci::boot

#endif  // LCI_BOOT_FILE_H_
