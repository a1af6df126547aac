#include "tools/launcher/job_output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "lci/base/status.h"
#include "lci/base/strings.h"
#include "lci/base/system.h"

namespace lci::launcher {

job_output::job_output(io::event_loop* loop, format how)
    : loop_(loop),
      format_(std::move(how)),
      out_(loop, STDOUT_FILENO),
      error_(loop, STDERR_FILENO) {}

base::Status job_output::make_files(int ranks) const {
  const std::string& directory = format_.directory;
  if (directory.empty()) return base::OkStatus();
  if (mkdir(directory.c_str(), 0777) != 0 && errno != EEXIST) {
    return base::InvalidArgumentError(
        base::StrCat("--output-dir ", directory, ": ", std::strerror(errno)));
  }
  for (int rank = 0; rank < ranks; ++rank) {
    for (const int stream : {1, 2}) {
      const std::string path = output_file(directory, rank, stream);
      const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
      if (fd < 0) return base::InvalidArgumentError(base::StrCat(path, ": ", std::strerror(errno)));
      close(fd);
    }
  }
  return base::OkStatus();
}

void job_output::add(int rank, const std::string& host, int stream, std::string_view bytes) {
  if (!format_.directory.empty()) {
    const std::string path = output_file(format_.directory, rank, stream);
    const int fd = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    base::write_all(fd, bytes);
    if (fd >= 0) close(fd);
  } else if (format_.by_line()) {
    add_lines(rank, host, stream, bytes);
  } else {
    sink_of(stream)->append(bytes);
  }
}

void job_output::add_lines(int rank, const std::string& host, int stream, std::string_view bytes) {
  const auto key = std::make_pair(rank, stream);
  auto found = lines_.find(key);
  if (found == lines_.end()) {
    const std::string named = format_.hosts ? base::StrCat(" ", host) : "";
    const std::string prefix = format_.label ? base::StrCat("[", rank, named, "] ") : "";
    line_splitter lines(sink_of(stream), prefix, format_.timestamp);
    found = lines_.emplace(key, std::move(lines)).first;
  }
  if (bytes.empty()) {
    found->second.finish();
  } else {
    found->second.add(bytes);
  }
}

void job_output::finish() {
  for (auto& [key, lines] : lines_) lines.finish();
  while (!out_.empty() || !error_.empty()) loop_->run_once();
}

}  // namespace lci::launcher
