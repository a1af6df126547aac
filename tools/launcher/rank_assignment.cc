// The ranks of one host: their programs, environment and processors.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "lci/base/status.h"
#include "lci/base/strings.h"
#include "lci/base/system.h"
#include "tools/launcher/agent.h"
#include "tools/launcher/binding.h"
#include "tools/launcher/orphan_reaper.h"
#include "tools/launcher/plan.h"

namespace lci::launcher {
namespace {

bool is_directory(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

size_t index_of_program(const std::vector<program_plan>& programs, int rank) {
  const auto after =
      std::upper_bound(programs.begin(), programs.end(), rank,
                       [](int r, const program_plan& program) { return r < program.first_rank; });
  return static_cast<size_t>(after - programs.begin()) - 1;
}

std::string_view name_of(std::string_view assignment) {
  return assignment.substr(0, assignment.find('='));
}

bool has_programs(const std::vector<program_plan>& programs) {
  int least = 0;
  for (const program_plan& program : programs) {
    if (program.command.empty() || program.first_rank < least) return false;
    least = program.first_rank;
  }
  return !programs.empty() && programs[0].first_rank == 0;
}

bool is_ascending(const std::vector<int>& ranks) {
  constexpr int limit = 1 << 24;
  int least = 0;
  for (const int rank : ranks) {
    if (rank < least) return false;
    least = rank + 1;
  }
  return !ranks.empty() && ranks.back() < limit;
}

}  // namespace

const program_plan& program_of(const std::vector<program_plan>& programs, int rank) {
  return programs[index_of_program(programs, rank)];
}

base::Status find_programs(rank_assignment* assigned) {
  for (const int rank : assigned->ranks) {
    program_plan& program = assigned->programs[index_of_program(assigned->programs, rank)];
    if (!program.file.empty()) continue;
    if (!program.wdir.empty() && !is_directory(program.wdir)) {
      return base::NotFoundError(base::StrCat("--wdir ", program.wdir, " is not a directory"));
    }
    base::StatusOr<std::string> file = find_program(program.command[0], program.wdir);
    if (!file.ok()) return file.status();
    program.file = *std::move(file);
  }
  return base::OkStatus();
}

// Looks up relative names in `wdir`, the directory of the ranks.
base::StatusOr<std::string> find_program(const std::string& name, const std::string& wdir) {
  std::vector<std::string> candidates;
  if (std::string_view(name).find('/') != std::string_view::npos) {
    candidates.push_back(name);
  } else {
    const char* path = std::getenv("PATH");
    for (std::string_view dir : base::StrSplit(path != nullptr ? path : "/usr/bin:/bin", ':')) {
      candidates.push_back(base::StrCat(dir.empty() ? "." : dir, "/", name));
    }
  }
  std::string problem;  // of a file with this name; empty: there is none
  for (const std::string& candidate : candidates) {
    const std::string path =
        candidate[0] == '/' || wdir.empty() ? candidate : base::StrCat(wdir, "/", candidate);
    struct stat status;
    if (stat(path.c_str(), &status) != 0) continue;
    if (!S_ISREG(status.st_mode)) {
      problem = S_ISDIR(status.st_mode) ? "is a directory, not a program" : "is not a program";
    } else if (access(path.c_str(), X_OK) == 0) {
      return candidate;
    } else {
      problem = "is not executable; make it so with chmod +x, or name its interpreter before it";
    }
  }
  if (!problem.empty()) {
    return base::PermissionDeniedError(base::StrCat("\"", name, "\" ", problem));
  }
  return base::NotFoundError(
      base::StrCat("program \"", name, "\" not found", candidates.size() > 1 ? " in PATH" : ""));
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

void set_variables(std::vector<std::string>* environment,
                   const std::vector<std::string>& assignments) {
  for (const std::string& assignment : assignments) set_variable(environment, assignment);
}

rank_assignment assignment_of(const job_plan& job, const launch_options& options, size_t node,
                              const std::string& boot_address) {
  rank_assignment made;
  made.host = job.hosts[node].name;
  made.mark = mark_of(job.id, static_cast<int>(node));
  made.programs = job.programs;
  made.environment = job.helpers ? job.sent : job.environment;
  made.own = job.own;
  if (!boot_address.empty()) made.own.push_back(base::StrCat("LCI_BOOT_ADDR=", boot_address));
  made.ranks = job.hosts[node].ranks;
  if (std::binary_search(made.ranks.begin(), made.ranks.end(), job.stdin_rank)) {
    made.stdin_rank = job.stdin_rank;
  }
  made.bind_to = binding_of(options);
  made.map_by = options.map_by;
  made.report_bindings = options.report_bindings;
  return made;
}

bool is_valid(const rank_assignment& assigned) {
  return is_ascending(assigned.ranks) && has_programs(assigned.programs) &&
         assigned.bind_to >= binding::none && assigned.bind_to <= binding::socket &&
         assigned.map_by >= mapping::slot && assigned.map_by <= mapping::node &&
         base::StartsWith(assigned.mark, "LCI_JOB_NODE=");
}

void complete(rank_assignment* assigned) {
  assigned->host = base::host_name();
  const std::vector<std::string> added = std::exchange(assigned->environment, {});
  for (char* const* entry = environ; *entry != nullptr; ++entry) {
    assigned->environment.push_back(*entry);
  }
  set_variables(&assigned->environment, added);
}

topology topology_for(const rank_assignment& assigned) {
  if (assigned.bind_to == binding::none) return {};
  return read_topology("/sys", allowed_processors());
}

rank_plan plan_rank(const rank_assignment& assigned, int local_rank, const topology& host) {
  rank_plan plan;
  plan.rank = assigned.ranks[static_cast<size_t>(local_rank)];
  plan.processors = bind_rank(host, local_rank, static_cast<int>(assigned.ranks.size()),
                              assigned.bind_to, assigned.map_by);
  plan.program = &program_of(assigned.programs, plan.rank);
  plan.environment = assigned.environment;
  set_variables(&plan.environment, plan.program->environment);
  set_variables(&plan.environment, assigned.own);
  set_variables(&plan.environment,
                {base::StrCat("LCI_RANK=", plan.rank), base::StrCat("LCI_LOCAL_RANK=", local_rank),
                 base::StrCat("LCI_LOCAL_SIZE=", assigned.ranks.size()), assigned.mark});
  return plan;
}

std::string describe(const job_plan& job, const launch_options& options) {
  std::string text =
      base::StrCat("job ", job.id, ": ", job.ranks, job.ranks == 1 ? " rank of " : " ranks of ");
  for (const program_plan& program : job.programs) {
    base::StrAppend(&text, &program == job.programs.data() ? "" : ", ",
                    program.file.empty() ? program.command[0] : program.file,
                    program.wdir.empty() ? "" : base::StrCat(" in ", program.wdir));
  }
  text.push_back('\n');
  for (size_t node = 0; node < job.hosts.size(); ++node) {
    const host_plan& host = job.hosts[node];
    if (job.helpers) {
      base::StrAppend(
          &text, "  ", host.name, ": ",
          host.start.empty() ? "lcrun is started there by hand" : shell_command(host.start), "\n");
    }
    rank_assignment there = assignment_of(job, options, node, "");
    // The processors of another host are known only there.
    if (job.helpers) there.bind_to = binding::none;
    const topology processors = topology_for(there);
    for (size_t local = 0; local < host.ranks.size(); ++local) {
      const rank_plan rank = plan_rank(there, static_cast<int>(local), processors);
      base::StrAppend(&text, "  rank ", rank.rank, " on ", host.name,
                      rank.processors.empty()
                          ? ""
                          : base::StrCat(", ", describe_binding(processors, rank.processors)),
                      ": ", shell_command(rank.program->command), "\n");
    }
  }
  return text;
}

}  // namespace lci::launcher
