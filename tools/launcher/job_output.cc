#include "tools/launcher/job_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "lci/base/status.h"
#include "lci/base/strings.h"
#include "lci/base/system.h"
#include "lci/io/unique_fd.h"

namespace lci::launcher {

job_output::job_output(io::event_loop* loop, format how, loss_handler lost)
    : loop_(loop),
      format_(std::move(how)),
      lost_(std::move(lost)),
      out_(loop, STDOUT_FILENO, [this](int error) { lost_("the standard output", error); }),
      error_(loop, STDERR_FILENO, [this](int error) { lost_("the standard error", error); }) {}

base::Status job_output::make_files(int ranks) const {
  const std::string& directory = format_.directory;
  if (directory.empty()) return base::OkStatus();
  if (base::Status made = make_output_directory(directory); !made.ok()) return made;
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
    add_to_file(rank, stream, bytes);
  } else if (format_.by_line()) {
    add_lines(rank, host, stream, bytes);
  } else {
    sink_of(stream)->append(bytes);
  }
}

void job_output::add_to_file(int rank, int stream, std::string_view bytes) {
  const std::string path = output_file(format_.directory, rank, stream);
  const io::unique_fd fd(open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  const int error = fd ? base::write_all(fd.get(), bytes) : errno;
  if (error == 0 || has_lost_files_) return;
  has_lost_files_ = true;
  lost_(path, error);
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
