#include "tools/launcher/plan.h"

#include <sched.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace lci::launcher {
namespace {

absl::StatusOr<std::string> random_hex(size_t bytes) {
  std::vector<unsigned char> raw(bytes);
  if (getrandom(raw.data(), bytes, 0) != static_cast<ssize_t>(bytes)) {
    return absl::InternalError("the kernel gives no random bytes");
  }
  std::string text;
  for (unsigned char byte : raw) absl::StrAppend(&text, absl::Hex(byte, absl::kZeroPad2));
  return text;
}

std::string host_name() {
  char name[256] = {};
  if (gethostname(name, sizeof(name) - 1) != 0) return "localhost";
  return name;
}

bool is_directory(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

// Where a program of this name is, as a shell would find it. Relative names are looked up from
// `wdir`, where the ranks will be.
absl::StatusOr<std::string> find_program(const std::string& name, const std::string& wdir) {
  std::vector<std::string> candidates;
  if (absl::string_view(name).find('/') != absl::string_view::npos) {
    candidates.push_back(name);
  } else {
    const char* path = std::getenv("PATH");
    for (absl::string_view dir : absl::StrSplit(path != nullptr ? path : "/usr/bin:/bin", ':')) {
      candidates.push_back(absl::StrCat(dir.empty() ? "." : dir, "/", name));
    }
  }
  bool found = false;
  for (const std::string& candidate : candidates) {
    const std::string path =
        candidate[0] == '/' || wdir.empty() ? candidate : absl::StrCat(wdir, "/", candidate);
    struct stat status;
    if (stat(path.c_str(), &status) != 0) continue;
    found = true;
    if (S_ISREG(status.st_mode) && access(path.c_str(), X_OK) == 0) return candidate;
  }
  if (found) return absl::PermissionDeniedError(absl::StrCat("\"", name, "\" is not a program"));
  return absl::NotFoundError(
      absl::StrCat("program \"", name, "\" not found", candidates.size() > 1 ? " in PATH" : ""));
}

std::vector<int> allowed_cores() {
  std::vector<int> cores;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cores.push_back(cpu);
  }
  return cores;
}

// Consecutive cores, evenly; one each, in turn, where ranks are more than cores.
std::vector<int> cores_of(int rank, int ranks, const std::vector<int>& all) {
  const auto n = static_cast<int>(all.size());
  if (n == 0) return {};
  if (ranks >= n) return {all[static_cast<size_t>(rank % n)]};
  return std::vector<int>(all.begin() + static_cast<long>(rank) * n / ranks,
                          all.begin() + static_cast<long>(rank + 1) * n / ranks);
}

absl::string_view name_of(absl::string_view assignment) {
  return assignment.substr(0, assignment.find('='));
}

void set_variable(std::vector<std::string>* environment, const std::string& assignment) {
  for (std::string& existing : *environment) {
    if (name_of(existing) == name_of(assignment)) {
      existing = assignment;
      return;
    }
  }
  environment->push_back(assignment);
}

}  // namespace

absl::StatusOr<job_plan> make_plan(const launch_options& options, char* const* environment) {
  job_plan job;
  job.host = host_name();
  job.command = options.command;
  job.wdir = options.wdir;
  if (!job.wdir.empty() && !is_directory(job.wdir)) {
    return absl::NotFoundError(absl::StrCat("--wdir ", job.wdir, " is not a directory"));
  }
  absl::StatusOr<std::string> program = find_program(options.command[0], job.wdir);
  if (!program.ok()) return program.status();
  job.program = *std::move(program);
  absl::StatusOr<std::string> id = random_hex(8);
  if (!id.ok()) return id.status();
  absl::StatusOr<std::string> token = random_hex(16);
  if (!token.ok()) return token.status();
  job.id = *std::move(id);
  job.token = *std::move(token);

  for (char* const* entry = environment; *entry != nullptr; ++entry) {
    job.environment.push_back(*entry);
  }
  for (const std::string& exported : options.exports) {
    if (exported.find('=') != std::string::npos) {
      set_variable(&job.environment, exported);
    } else if (std::getenv(exported.c_str()) == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(
          "-x ", exported, ": this variable is not set; give -x ", exported, "=VALUE"));
    }
  }
  for (const std::string& assignment :
       {absl::StrCat("LCI_BOOT=", options.boot == bootstrap_kind::tcp ? "tcp" : "file"),
        absl::StrCat("LCI_SIZE=", options.ranks), absl::StrCat("LCI_LOCAL_SIZE=", options.ranks),
        absl::StrCat("LCI_JOB_ID=", job.id)}) {
    set_variable(&job.environment, assignment);
  }
  const std::vector<int> cores =
      options.bind_to == binding::core ? allowed_cores() : std::vector<int>();
  for (int r = 0; r < options.ranks; ++r) {
    rank_plan rank;
    rank.rank = r;
    rank.cores = cores_of(r, options.ranks, cores);
    rank.environment = {absl::StrCat("LCI_RANK=", r), absl::StrCat("LCI_LOCAL_RANK=", r)};
    job.ranks.push_back(std::move(rank));
  }
  return job;
}

std::vector<std::string> full_environment(const job_plan& job, const rank_plan& rank) {
  std::vector<std::string> all = job.environment;
  for (const std::string& assignment : rank.environment) set_variable(&all, assignment);
  return all;
}

std::string describe(const job_plan& job) {
  std::string text = absl::StrCat("job ", job.id, ": ", job.ranks.size(), " ranks of ", job.program,
                                  job.wdir.empty() ? "" : absl::StrCat(" in ", job.wdir), "\n");
  for (const rank_plan& rank : job.ranks) {
    absl::StrAppend(
        &text, "  rank ", rank.rank, " on ", job.host,
        rank.cores.empty() ? "" : absl::StrCat(", cores ", absl::StrJoin(rank.cores, ",")), ": ",
        absl::StrJoin(job.command, " "), "\n");
  }
  return text;
}

}  // namespace lci::launcher
