// The directory of the sockets at which the jobs of this user answer `lcrun --report`.
//
// Each lcrun that runs a job listens on the socket DIRECTORY/<id of the job>. The directory belongs
// to the user and is closed to others, so that no other user can connect or read the ids.
#ifndef LCI_TOOLS_LAUNCHER_REPORT_DIRECTORY_H_
#define LCI_TOOLS_LAUNCHER_REPORT_DIRECTORY_H_

#include <string>
#include <vector>

#include "lci/base/status.h"
#include "lci/io/unique_fd.h"

namespace lci::launcher {

// The request of --report, in one byte. The answer is one byte, an answer_kind, and a text up to
// the end of the connection.
enum class report_request : char { title = 'i', text = 't', json = 'j' };
enum class answer_kind : char { report = 'r', error = 'e' };

class report_directory {
 public:
  // Opens `path`, or if it is empty /tmp/lcrun-jobs-UID, and makes the directory if necessary.
  // Returns PermissionDenied if the directory belongs to another user or others have access to it.
  static base::StatusOr<report_directory> open(const std::string& path);

  // Makes a socket that listens, does not block and is closed by exec, under the id of a job. Other
  // processes see the socket only when it listens.
  base::StatusOr<io::unique_fd> listen(const std::string& job_id) const;
  void remove(const std::string& job_id) const;

  // Connects to a job. Returns NotFound if no lcrun runs such a job; a socket that a killed lcrun
  // has left behind is then removed.
  base::StatusOr<io::unique_fd> connect(const std::string& job_id) const;

  // The ids of all jobs that accept connections, in alphabetical order.
  std::vector<std::string> jobs() const;

  const std::string& path() const { return path_; }

 private:
  report_directory(std::string path, io::unique_fd fd)
      : path_(std::move(path)), fd_(std::move(fd)) {}

  std::string path_;
  io::unique_fd fd_;
};

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_REPORT_DIRECTORY_H_
