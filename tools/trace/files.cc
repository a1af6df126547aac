#include "tools/trace/files.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "lci/base/strings.h"

namespace lci::trace {
namespace {

namespace fs = std::filesystem;

base::StatusOr<std::vector<std::string>> list(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    const size_t before = files.size();
    for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
      const std::string name = at->path().string();
      if (base::EndsWith(name, observe::recording_suffix)) files.push_back(name);
    }
    if (error) {
      return base::NotFoundError(base::StrCat("can't read ", path, ": ", error.message()));
    }
    if (files.size() == before) {
      return base::NotFoundError(
          base::StrCat(path, " has no recording (*", observe::recording_suffix,
                       "); was the job run with LCI_RECORD=1, and has it failed? After a job that "
                       "ends as it should they are removed, unless LCI_RECORD=keep"));
    }
  }
  return files;
}

}  // namespace

base::StatusOr<job_recordings> read_job(const std::vector<std::string>& paths,
                                        const std::string& job) {
  const auto files = list(paths);
  if (!files.ok()) return files.status();
  job_recordings found;
  std::map<std::string, int> ranks_of;  // by job
  for (const std::string& file : *files) {
    auto read = observe::read_recording(file);
    if (!read.ok()) {
      found.unreadable.emplace_back(read.status().message());
    } else if (base::StartsWith(read->job, job)) {
      ++ranks_of[read->job];
      found.ranks.push_back(*std::move(read));
    }
  }
  if (ranks_of.size() > 1) {
    std::string jobs;
    for (const auto& [id, ranks] : ranks_of) {
      base::StrAppend(&jobs, jobs.empty() ? "" : ", ", id, " (", ranks,
                      ranks == 1 ? " rank)" : " ranks)");
    }
    return base::InvalidArgumentError(
        base::StrCat("the recordings are of several jobs; give --job with one of: ", jobs));
  }
  if (found.ranks.empty() && found.unreadable.empty()) {
    return base::NotFoundError(base::StrCat("there is no recording of job ", job));
  }
  std::sort(found.ranks.begin(), found.ranks.end(),
            [](const auto& a, const auto& b) { return a.rank < b.rank; });
  for (size_t i = 1; i < found.ranks.size(); ++i) {
    if (found.ranks[i].rank != found.ranks[i - 1].rank) continue;
    return base::InvalidArgumentError(base::StrCat(found.ranks[i - 1].path, " and ",
                                                   found.ranks[i].path, " are both of rank ",
                                                   found.ranks[i].rank));
  }
  return found;
}

}  // namespace lci::trace
