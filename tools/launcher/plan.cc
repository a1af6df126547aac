#include "tools/launcher/plan.h"

#include <sys/auxv.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "lci/base/env.h"
#include "lci/base/status.h"
#include "lci/base/strings.h"
#include "lci/base/system.h"
#include "lci/io/files.h"
#include "lci/io/handshake.h"
#include "tools/launcher/agent.h"
#include "tools/launcher/allocation.h"
#include "tools/launcher/hosts.h"

namespace lci::launcher {
namespace {

// Returns the hosts that the user or a batch system names. Empty: none, so the job runs on this
// machine.
base::StatusOr<std::vector<host_slots>> find_hosts(const launch_options& options,
                                                   std::string* default_agent_text) {
  *default_agent_text = default_agent;
  if (!options.host_list.empty()) return parse_host_list("--host", options.host_list);
  if (!options.host_file.empty()) {
    const std::optional<std::string> text = io::read_file(options.host_file);
    if (!text) {
      return base::InvalidArgumentError(
          base::StrCat(options.host_file, ": ", std::strerror(errno)));
    }
    return parse_host_file(options.host_file, *text);
  }
  base::StatusOr<allocation> given = find_allocation();
  if (!given.ok()) return given.status();
  if (!given->agent.empty()) *default_agent_text = given->agent;
  return std::move(given->hosts);
}

// The path that the kernel was given stands in for /proc where that is not mounted.
base::StatusOr<std::string> own_path() {
  std::error_code error;
  std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) {
    const auto* const given = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
    path = std::filesystem::canonical(given == nullptr ? "" : given, error);
  }
  if (error) {
    return base::InternalError(
        base::StrCat("can't find lcrun's own path: ", error.message(), "; is /proc mounted?"));
  }
  return path.string();
}

void give_ranks(const std::vector<int>& counts, const launch_options& options, job_plan* job) {
  const auto placed = place_ranks(counts, options.map_by == mapping::node);
  job->host_of.resize(static_cast<size_t>(job->ranks));
  for (size_t i = 0; i < placed.size(); ++i) {
    job->hosts[i].ranks = placed[i];
    for (const int rank : placed[i]) {
      job->host_of[static_cast<size_t>(rank)] = static_cast<int>(i);
    }
  }
}

// Plans hosts that are started by hand. Their names are not known yet.
base::Status plan_by_hand(const launch_options& options, int said_ranks, job_plan* job) {
  if (options.nodes == 0) {
    return base::InvalidArgumentError("--node-rank 0 needs --nnodes: how many hosts there will be");
  }
  if (options.endpoint.empty() && options.report_uri.empty()) {
    return base::InvalidArgumentError(
        "--node-rank 0 needs --rdzv-endpoint host:port or --report-uri file, for the others to "
        "find "
        "it");
  }
  if (said_ranks == 0 && options.per_host == 0) {
    return base::InvalidArgumentError("--node-rank 0 needs -n or --ppn: how many ranks to start");
  }
  const int ranks = said_ranks > 0 ? said_ranks : options.per_host * options.nodes;
  std::vector<host_slots> hosts = {{base::host_name(), 1}};
  for (int node = 1; node < options.nodes; ++node)
    hosts.push_back({base::StrCat("node ", node), 1});
  // Evenly; with --ppn, the first hosts are filled.
  const base::StatusOr<std::vector<int>> counts =
      distribute_ranks(hosts, ranks, options.per_host, options.per_host == 0);
  if (!counts.ok()) return counts.status();
  if (*std::min_element(counts->begin(), counts->end()) < 1) {
    return base::InvalidArgumentError(
        base::StrCat(ranks, " ranks are too few for ", options.nodes, " hosts"));
  }
  job->ranks = ranks;
  for (const host_slots& host : hosts) job->hosts.push_back({host.name, {}, {}});
  give_ranks(*counts, options, job);
  job->helpers = true;
  return base::OkStatus();
}

base::Status plan_hosts(const launch_options& options, job_plan* job) {
  const base::StatusOr<std::string> self = own_path();
  if (!self.ok()) return self.status();
  const std::vector<std::string> own_helper = {*self, helper_argument};
  int ranks = 0;  // 0: not given
  for (const program_options& program : options.programs) ranks += program.ranks;
  if (options.node_rank >= 0) {
    const base::Status s = plan_by_hand(options, ranks, job);
    if (s.ok()) job->hosts[0].start = own_helper;
    return s;
  }
  std::string default_agent_text;
  base::StatusOr<std::vector<host_slots>> hosts = find_hosts(options, &default_agent_text);
  if (!hosts.ok()) return hosts.status();
  const bool has_list = !hosts->empty();
  if (!has_list) hosts->push_back({base::host_name(), 1});
  if (options.nodes > static_cast<int>(hosts->size())) {
    return base::InvalidArgumentError(base::StrCat(
        "--nnodes ", options.nodes, ", but ",
        has_list ? base::StrCat("there are ", hosts->size(), " hosts")
                 : "no hosts are named: give --host or --hostfile, or start each by --node-rank"));
  }
  if (options.nodes > 0) hosts->resize(static_cast<size_t>(options.nodes));
  const base::StatusOr<std::vector<int>> ranks_of_hosts =
      distribute_ranks(*hosts, ranks, options.per_host, options.map_by == mapping::node);
  if (!ranks_of_hosts.ok()) return ranks_of_hosts.status();
  const base::StatusOr<std::vector<std::string>> agent =
      split_words(options.agent.empty() ? default_agent_text : options.agent);
  if (!agent.ok()) {
    return base::InvalidArgumentError(base::StrCat("--launch-agent: ", agent.status().message()));
  }
  bool elsewhere = false;
  std::vector<int> counts;
  for (size_t i = 0; i < hosts->size(); ++i) {
    if ((*ranks_of_hosts)[i] == 0) continue;
    host_plan host;
    host.name = (*hosts)[i].name;
    counts.push_back((*ranks_of_hosts)[i]);
    const bool here = options.agent.empty() && (!has_list || is_this_host(host.name));
    elsewhere |= has_list && !here;
    host.start = here ? own_helper
                      : agent_command(*agent, host.name,
                                      {options.remote_lcrun.empty() ? *self : options.remote_lcrun,
                                       helper_argument});
    job->ranks += counts.back();
    job->hosts.push_back(std::move(host));
  }
  give_ranks(counts, options, job);
  job->helpers = elsewhere || job->hosts.size() > 1;
  if (!job->helpers && !options.report_uri.empty()) {
    return base::InvalidArgumentError(
        "--report-uri is for jobs on several hosts, and this one is on this host alone");
  }
  return base::OkStatus();
}

// Selects the variables that the job has on other hosts. Their other variables are those of the
// host.
bool travels(std::string_view assignment) {
  if (base::StartsWith(assignment, "LCI_BOOT_TOKEN=")) return false;  // the helpers have it
  return base::StartsWith(assignment, "LCI_") || base::StartsWith(assignment, "FI_");
}

void plan_environment(const launch_options& options, char* const* environment, job_plan* job) {
  for (char* const* entry = environment; *entry != nullptr; ++entry) {
    job->environment.push_back(*entry);
    if (travels(*entry)) job->sent.push_back(*entry);
  }
  // HPX recognizes a start over LCI by this variable. No MPI reads it.
  const std::string for_hpx = base::StrCat("LCT_PMI_FILE_NRANKS=", job->ranks);
  set_variable(&job->environment, for_hpx);
  set_variable(&job->sent, for_hpx);
  job->own = {base::StrCat("LCI_BOOT=", options.boot == bootstrap_kind::tcp ? "tcp" : "file"),
              base::StrCat("LCI_SIZE=", job->ranks), base::StrCat("LCI_JOB_ID=", job->id)};
}

base::Status plan_programs(const launch_options& options, job_plan* job) {
  int rank = 0;
  for (const program_options& program : options.programs) {
    program_plan plan;
    plan.first_rank = rank;
    rank += program.ranks;
    plan.command = program.command;
    plan.wdir = program.wdir;
    for (const std::string& exported : program.exports) {
      if (exported.find('=') != std::string::npos) {
        plan.environment.push_back(exported);
      } else if (const char* value = std::getenv(exported.c_str())) {
        plan.environment.push_back(base::StrCat(exported, "=", value));
      } else {
        return base::InvalidArgumentError(base::StrCat(
            "-x ", exported, ": this variable is not set; give -x ", exported, "=VALUE"));
      }
    }
    job->programs.push_back(std::move(plan));
  }
  return base::OkStatus();
}

// Checks the programs of the ranks of this host. Programs of other hosts may be missing here.
base::Status check_here(job_plan* job, const launch_options& options) {
  for (size_t node = 0; node < job->hosts.size(); ++node) {
    const host_plan& host = job->hosts[node];
    const bool here = host.start.size() == 2 && host.start[1] == helper_argument;
    if (job->helpers && !here) continue;
    rank_assignment there = assignment_of(*job, options, node, "");
    if (const base::Status s = find_programs(&there); !s.ok()) return s;
    for (size_t i = 0; i < there.programs.size(); ++i) {
      if (!there.programs[i].file.empty()) job->programs[i].file = there.programs[i].file;
    }
  }
  return base::OkStatus();
}

base::Status plan_secrets(const launch_options& options, job_plan* job) {
  const std::string random = base::random_bytes(24);
  if (random.empty()) return base::no_random_bytes();
  const std::string digits = base::BytesToHexString(random);
  job->id = digits.substr(0, 16);
  job->token = digits.substr(16);
  if (options.node_rank < 0) return base::OkStatus();
  const base::StatusOr<std::string> by_hand =
      options.endpoint.empty() ? token_by_hand() : required_token_by_hand();
  if (!by_hand.ok()) return by_hand.status();
  if (!by_hand->empty()) job->token = *by_hand;
  return base::OkStatus();
}

}  // namespace

base::StatusOr<std::string> token_by_hand() {
  const std::string token = base::env_string("LCI_BOOT_TOKEN", "");
  if (token.size() > io::max_token_size) {
    return base::InvalidArgumentError(base::StrCat("LCI_BOOT_TOKEN has ", token.size(),
                                                   " bytes; at most ", io::max_token_size,
                                                   " are accepted"));
  }
  return token;
}

base::StatusOr<std::string> required_token_by_hand() {
  base::StatusOr<std::string> token = token_by_hand();
  if (!token.ok() || !token->empty()) return token;
  return base::InvalidArgumentError(
      "--rdzv-endpoint needs a secret: set LCI_BOOT_TOKEN to the same text (such as 32 random "
      "hexadecimal digits) on all hosts");
}

std::vector<size_t> children_of(const job_plan& job, size_t node, int fan_out) {
  std::vector<size_t> children;
  const auto width = static_cast<size_t>(fan_out);
  for (size_t i = 0; i < width && width * (node + 1) + i < job.hosts.size(); ++i) {
    children.push_back(width * (node + 1) + i);
  }
  return children;
}

int exit_code_of(const base::Status& error) {
  return base::IsNotFound(error) ? 127 : base::IsPermissionDenied(error) ? 126 : 2;
}

base::StatusOr<job_plan> make_plan(const launch_options& options, char* const* environment) {
  job_plan job;
  job.stdin_rank = options.stdin_rank;
  for (const base::Status& s : {plan_secrets(options, &job), plan_hosts(options, &job)}) {
    if (!s.ok()) return s;
  }
  if (job.stdin_rank >= job.ranks) {
    return base::InvalidArgumentError(base::StrCat("--stdin=", job.stdin_rank,
                                                   ": there is no such rank among ", job.ranks,
                                                   "; ranks count from 0"));
  }
  if (job.helpers && options.boot == bootstrap_kind::file) {
    return base::InvalidArgumentError("--boot file is for one host; leave it out");
  }
  plan_environment(options, environment, &job);
  if (const base::Status s = plan_programs(options, &job); !s.ok()) return s;
  if (const base::Status s = check_here(&job, options); !s.ok()) return s;
  char path[4096];
  if (job.helpers && getcwd(path, sizeof(path)) != nullptr) {
    for (program_plan& program : job.programs) {
      if (program.wdir.empty()) program.wdir = path;
    }
  }
  return job;
}

}  // namespace lci::launcher
