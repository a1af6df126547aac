#include "tools/launcher/report_client.h"
#include "tools/cli/cli.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "lci/base/status.h"
#include "lci/base/strings.h"
#include "lci/base/system.h"
#include "lci/io/socket.h"
#include "tools/launcher/output.h"
#include "tools/launcher/report_directory.h"

namespace lci::launcher {
namespace {

// lcrun collects a report within 3 s. It gives no answer while it is stopped.
constexpr timeval time_to_answer = {10, 0};
constexpr timeval time_to_answer_title = {2, 0};

base::StatusOr<std::string> ask(const report_directory& directory, const std::string& job,
                                report_request request) {
  const base::StatusOr<io::unique_fd> socket = directory.connect(job);
  if (!socket.ok()) return socket.status();
  const timeval limit = request == report_request::title ? time_to_answer_title : time_to_answer;
  setsockopt(socket->get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  const char byte = static_cast<char>(request);
  if (send(socket->get(), &byte, 1, MSG_NOSIGNAL) != 1) {
    return base::UnavailableError(base::StrCat("job ", job, " has ended"));
  }
  std::string answer;
  char block[65536];
  ssize_t n;
  while ((n = recv(socket->get(), block, sizeof(block), 0)) != 0) {
    if (n > 0) {
      answer.append(block, static_cast<size_t>(n));
    } else if (errno == EAGAIN) {
      return base::UnavailableError(base::StrCat("the lcrun of job ", job,
                                                 " does not answer within ", limit.tv_sec,
                                                 " s; it may be stopped"));
    } else if (errno != EINTR) {
      break;
    }
  }
  if (n != 0 || answer.empty()) {
    return base::UnavailableError(base::StrCat("job ", job, " has ended"));
  }
  const auto kind = static_cast<answer_kind>(answer[0]);
  answer.erase(0, 1);
  if (kind != answer_kind::report) {
    return base::UnavailableError(base::StrCat("job ", job, ": ", answer));
  }
  return answer;
}

// One line for each job.
std::string list_of(const report_directory& directory, const std::vector<std::string>& jobs) {
  std::string list;
  for (const std::string& job : jobs) {
    const base::StatusOr<std::string> title = ask(directory, job, report_request::title);
    base::StrAppend(&list, "  ", job, "  ",
                    title.ok() ? printable(*title) : std::string(title.status().message()), "\n");
  }
  return list;
}

// The job of the option, or the only one.
base::StatusOr<std::string> choose_job(const report_directory& directory,
                                       const launch_options& options) {
  const std::string& id = options.report_job;
  if (!id.empty() && directory.connect(id).ok()) return id;
  const std::vector<std::string> jobs = directory.jobs();
  if (id.empty() && jobs.size() == 1) return jobs[0];
  const std::string where =
      base::StrCat("of this user on this host (the sockets are in ", directory.path(),
                   "; only the user who has started a job gets its report)");
  if (jobs.empty()) {
    return base::NotFoundError(id.empty() ? base::StrCat("there is no job ", where)
                                          : base::StrCat("there is no job ", id, " ", where));
  }
  return base::NotFoundError(
      base::StrCat(id.empty() ? "there are several jobs; name one of"
                              : base::StrCat("there is no job ", id, " ", where, "; there are"),
                   "\n", list_of(directory, jobs)));
}

base::StatusOr<std::string> report_of(const launch_options& options) {
  const base::StatusOr<report_directory> directory = report_directory::open(options.report_dir);
  if (!directory.ok()) return directory.status();
  const base::StatusOr<std::string> job = choose_job(*directory, options);
  if (!job.ok()) return job.status();
  return ask(*directory, *job, options.report_request);
}

}  // namespace

int print_report(const launch_options& options) {
  const base::StatusOr<std::string> report = report_of(options);
  const std::string text =
      report.ok() ? *report : base::StrCat("lcrun: ", report.status().message());
  const bool is_complete = !text.empty() && text.back() == '\n';
  const std::string lines = base::StrCat(text, is_complete ? "" : "\n");
  if (report.ok()) return cli::print("lcrun", lines);
  base::write_all(STDERR_FILENO, lines);
  return 1;
}

}  // namespace lci::launcher
