// The file by which the ranks of a job find the server of rank 0. It is in a directory that their
// machines share, and exists only while the job starts.
#ifndef LCI_BOOT_MEETING_FILE_H_
#define LCI_BOOT_MEETING_FILE_H_

#include <string>
#include <string_view>
#include <vector>

#include "lci/base/status.h"
#include "lci/io/files.h"

namespace lci::boot {

// Where a server is.
struct server_place {
  std::vector<std::string> addresses;  // host:port or [v6 address]:port, best first
  std::string token;                   // of the job
};

// Returns the absolute path of the file of a job, whose name is also a name of files. If
// `directory` (LCI_BOOT_DIR) is empty, the file is in $HOME/.cache/lci, because clusters share the
// home directories of their users. InvalidArgument if HOME is not set.
base::StatusOr<std::string> meeting_path(std::string_view directory, std::string_view job);

// Writes the file, which only its owner can read, and creates its directory (0700). Also removes
// what jobs have left behind that were killed while they started. AlreadyExists if there is such a
// file and `existing` is keep; InvalidArgument with the reason if it cannot be written.
base::Status write_meeting_file(const std::string& path, const server_place& place,
                                io::existing_file existing = io::existing_file::replace);

// Unavailable if there is no file yet. PermissionDenied if it belongs to another user or others can
// read it, DataLoss if it has another format: another process may replace it.
base::StatusOr<server_place> read_meeting_file(const std::string& path);

// Removes the file if it leads to the server with this token.
void remove_meeting_file(const std::string& path, const std::string& token);

}  // namespace lci::boot

#endif  // LCI_BOOT_MEETING_FILE_H_
