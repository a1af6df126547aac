#include "tools/launcher/plan.h"

#include <sched.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "lci/base/env.h"
#include "lci/base/status.h"
#include "lci/base/strings.h"
#include "lci/boot/tcp_wire.h"
#include "tools/launcher/agent.h"
#include "tools/launcher/guard.h"
#include "tools/launcher/hosts.h"

namespace lci::launcher {
namespace {

base::StatusOr<std::string> random_hex(size_t bytes) {
  std::vector<unsigned char> raw(bytes);
  if (getrandom(raw.data(), bytes, 0) != static_cast<ssize_t>(bytes)) {
    return base::InternalError("the kernel gives no random bytes");
  }
  std::string text;
  for (unsigned char byte : raw) base::StrAppend(&text, base::Hex(byte, 2));
  return text;
}

bool is_directory(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

}  // namespace

std::string host_name() {
  char name[256] = {};
  if (gethostname(name, sizeof(name) - 1) != 0) return "localhost";
  return name;
}

const program_plan& program_of(const std::vector<program_plan>& programs, int rank) {
  const auto after =
      std::upper_bound(programs.begin(), programs.end(), rank,
                       [](int r, const program_plan& program) { return r < program.first_rank; });
  return *(after - 1);
}

base::Status find_programs(share* share) {
  const int end = share->first_rank + share->ranks;
  for (size_t i = 0; i < share->programs.size(); ++i) {
    program_plan& program = share->programs[i];
    const int next = i + 1 < share->programs.size() ? share->programs[i + 1].first_rank : end;
    if (program.first_rank >= end || next <= share->first_rank) continue;
    if (!program.wdir.empty() && !is_directory(program.wdir)) {
      return base::NotFoundError(base::StrCat("--wdir ", program.wdir, " is not a directory"));
    }
    base::StatusOr<std::string> file = find_program(program.command[0], program.wdir);
    if (!file.ok()) return file.status();
    program.file = *std::move(file);
  }
  return base::OkStatus();
}

// Relative names are looked up from `wdir`, where the ranks will be.
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
  bool found = false;
  for (const std::string& candidate : candidates) {
    const std::string path =
        candidate[0] == '/' || wdir.empty() ? candidate : base::StrCat(wdir, "/", candidate);
    struct stat status;
    if (stat(path.c_str(), &status) != 0) continue;
    found = true;
    if (S_ISREG(status.st_mode) && access(path.c_str(), X_OK) == 0) return candidate;
  }
  if (found) return base::PermissionDeniedError(base::StrCat("\"", name, "\" is not a program"));
  return base::NotFoundError(
      base::StrCat("program \"", name, "\" not found", candidates.size() > 1 ? " in PATH" : ""));
}

namespace {

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

std::string_view name_of(std::string_view assignment) {
  return assignment.substr(0, assignment.find('='));
}

base::StatusOr<std::string> read_text(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) return base::InvalidArgumentError(base::StrCat(path, ": ", std::strerror(errno)));
  return text.str();
}

// Empty: nothing says which, so it is this machine.
base::StatusOr<std::vector<host_slots>> find_hosts(const launch_options& options,
                                                   std::string* default_agent_text) {
  *default_agent_text = default_agent;
  if (!options.host_list.empty()) return parse_host_list("--host", options.host_list);
  if (!options.host_file.empty()) {
    const base::StatusOr<std::string> text = read_text(options.host_file);
    if (!text.ok()) return text.status();
    return parse_host_file(options.host_file, *text);
  }
  const std::optional<std::string> nodes = base::env_text("SLURM_JOB_NODELIST");
  if (!nodes) return std::vector<host_slots>();
  if (find_program("srun", "").ok()) *default_agent_text = slurm_agent;
  return parse_slurm(*nodes, base::env_string("SLURM_TASKS_PER_NODE", ""));
}

base::StatusOr<std::string> own_path() {
  char path[4096];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof(path));
  if (size <= 0 || static_cast<size_t>(size) == sizeof(path)) {
    return base::InternalError("can't find lcrun's own path; give --remote-lcrun");
  }
  return std::string(path, static_cast<size_t>(size));
}

// The hosts that are started by hand. Their names are not known yet.
base::Status plan_by_hand(const launch_options& options, int said_ranks, job_plan* job) {
  if (options.nodes == 0) {
    return base::InvalidArgumentError("--node-rank 0 needs --nnodes: how many hosts there will be");
  }
  if (options.node_rank >= options.nodes) {
    return base::InvalidArgumentError(base::StrCat("--node-rank ", options.node_rank,
                                                   ": there are ", options.nodes,
                                                   " hosts, which count from 0"));
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
  const int per_host =
      options.per_host > 0 ? options.per_host : (ranks + options.nodes - 1) / options.nodes;
  for (int node = 0; node < options.nodes; ++node) {
    host_plan host;
    host.name = node == 0 ? host_name() : base::StrCat("node ", node);
    host.first_rank = job->ranks;
    // Evenly; with --ppn the first are filled.
    host.ranks = options.per_host > 0 ? std::min(per_host, ranks - job->ranks)
                                      : ranks / options.nodes + (node < ranks % options.nodes);
    if (host.ranks < 1) {
      return base::InvalidArgumentError(
          base::StrCat(ranks, " ranks are too few for ", options.nodes, " hosts"));
    }
    job->ranks += host.ranks;
    job->hosts.push_back(host);
  }
  if (job->ranks != ranks) {
    return base::InvalidArgumentError(base::StrCat(ranks, " ranks do not fit on ", options.nodes,
                                                   " hosts with --ppn ", per_host, " each"));
  }
  job->helpers = true;
  return base::OkStatus();
}

base::Status plan_hosts(const launch_options& options, job_plan* job) {
  const base::StatusOr<std::string> self = own_path();
  if (!self.ok()) return self.status();
  const std::vector<std::string> own_helper = {*self, helper_argument};
  int ranks = 0;  // 0: not said
  for (const program_options& program : options.programs) ranks += program.ranks;
  if (options.node_rank >= 0) {
    const base::Status s = plan_by_hand(options, ranks, job);
    if (s.ok()) job->hosts[0].start = own_helper;
    return s;
  }
  std::string default_agent_text;
  base::StatusOr<std::vector<host_slots>> hosts = find_hosts(options, &default_agent_text);
  if (!hosts.ok()) return hosts.status();
  const bool said = !hosts->empty();
  if (!said) hosts->push_back({host_name(), 1});
  if (options.nodes > static_cast<int>(hosts->size())) {
    return base::InvalidArgumentError(base::StrCat(
        "--nnodes ", options.nodes, ", but ",
        said ? base::StrCat("there are ", hosts->size(), " hosts")
             : "no hosts are named: give --host or --hostfile, or start each by --node-rank"));
  }
  if (options.nodes > 0) hosts->resize(static_cast<size_t>(options.nodes));
  const base::StatusOr<std::vector<int>> shares = share_out(*hosts, ranks, options.per_host);
  if (!shares.ok()) return shares.status();
  const base::StatusOr<std::vector<std::string>> agent =
      split_words(options.agent.empty() ? default_agent_text : options.agent);
  if (!agent.ok()) {
    return base::InvalidArgumentError(base::StrCat("--launch-agent: ", agent.status().message()));
  }
  bool elsewhere = false;
  for (size_t i = 0; i < hosts->size(); ++i) {
    if ((*shares)[i] == 0) continue;
    host_plan host;
    host.name = (*hosts)[i].name;
    host.first_rank = job->ranks;
    host.ranks = (*shares)[i];
    const bool here = options.agent.empty() && (!said || is_this_host(host.name));
    elsewhere |= said && !here;
    host.start = here ? own_helper
                      : agent_command(*agent, host.name,
                                      {options.remote_lcrun.empty() ? *self : options.remote_lcrun,
                                       helper_argument});
    job->ranks += host.ranks;
    job->hosts.push_back(std::move(host));
  }
  job->helpers = elsewhere || job->hosts.size() > 1;
  if (!job->helpers && !options.report_uri.empty()) {
    return base::InvalidArgumentError(
        "--report-uri is for jobs on several hosts, and this one is on this host alone");
  }
  return base::OkStatus();
}

// What goes with the job to other hosts: the rest of the environment is theirs.
bool travels(std::string_view assignment) {
  return base::StartsWith(assignment, "LCI_") || base::StartsWith(assignment, "FI_");
}

void plan_environment(const launch_options& options, char* const* environment, job_plan* job) {
  for (char* const* entry = environment; *entry != nullptr; ++entry) {
    job->environment.push_back(*entry);
    if (travels(*entry)) job->sent.push_back(*entry);
  }
  // By this variable HPX sees that it was started in parallel over LCI. No MPI reads it.
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

// Checks what this host can check: others may have what this one has not.
base::Status check_here(job_plan* job, const launch_options& options) {
  for (const host_plan& host : job->hosts) {
    const bool here = host.start.size() == 2 && host.start[1] == helper_argument;
    if (job->helpers && !here) continue;
    share there = own_share(*job, options);
    there.first_rank = host.first_rank;
    there.ranks = host.ranks;
    if (const base::Status s = find_programs(&there); !s.ok()) return s;
    for (size_t i = 0; i < there.programs.size(); ++i) {
      if (!there.programs[i].file.empty()) job->programs[i].file = there.programs[i].file;
    }
  }
  return base::OkStatus();
}

base::Status plan_secrets(const launch_options& options, job_plan* job) {
  base::StatusOr<std::string> id = random_hex(8);
  if (!id.ok()) return id.status();
  base::StatusOr<std::string> token = random_hex(16);
  if (!token.ok()) return token.status();
  job->id = *std::move(id);
  job->token = *std::move(token);
  if (options.node_rank < 0) return base::OkStatus();
  const base::StatusOr<std::string> said = token_by_hand();
  if (!said.ok()) return said.status();
  if (!said->empty()) {
    job->token = *said;
  } else if (!options.endpoint.empty()) {
    return base::InvalidArgumentError(
        "--rdzv-endpoint needs a secret: set LCI_BOOT_TOKEN to the same text (such as 32 random "
        "hexadecimal digits) on all hosts");
  }
  return base::OkStatus();
}

}  // namespace

base::StatusOr<std::string> token_by_hand() {
  const std::string token = base::env_string("LCI_BOOT_TOKEN", "");
  if (token.size() > boot::tcp_wire::max_token_size) {
    return base::InvalidArgumentError(
        base::StrCat("LCI_BOOT_TOKEN has ", token.size(), " bytes; at most ",
                     boot::tcp_wire::max_token_size, " are accepted"));
  }
  return token;
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

share own_share(const job_plan& job, const launch_options& options) {
  share own;
  own.host = job.hosts[0].name;
  own.programs = job.programs;
  own.environment = job.environment;
  own.own = job.own;
  own.mark = mark_of(job.id, 0);
  own.ranks = job.ranks;
  own.stdin_rank = job.stdin_rank;
  own.bind_to = options.bind_to;
  return own;
}

rank_plan plan_rank(const share& share, int local_rank) {
  rank_plan plan;
  plan.rank = share.first_rank + local_rank;
  if (share.bind_to == binding::core) {
    plan.cores = cores_of(local_rank, share.ranks, allowed_cores());
  }
  plan.program = &program_of(share.programs, plan.rank);
  plan.environment = share.environment;
  for (const std::string& assignment : plan.program->environment) {
    set_variable(&plan.environment, assignment);
  }
  for (const std::string& assignment : share.own) set_variable(&plan.environment, assignment);
  for (const std::string& assignment :
       {base::StrCat("LCI_RANK=", plan.rank), base::StrCat("LCI_LOCAL_RANK=", local_rank),
        base::StrCat("LCI_LOCAL_SIZE=", share.ranks), share.mark}) {
    set_variable(&plan.environment, assignment);
  }
  return plan;
}

std::string describe(const job_plan& job, const launch_options& options) {
  std::string text = base::StrCat("job ", job.id, ": ", job.ranks, " ranks of ");
  for (const program_plan& program : job.programs) {
    base::StrAppend(&text, &program == job.programs.data() ? "" : ", ",
                    program.file.empty() ? program.command[0] : program.file,
                    program.wdir.empty() ? "" : base::StrCat(" in ", program.wdir));
  }
  text.push_back('\n');
  for (const host_plan& host : job.hosts) {
    if (job.helpers) {
      base::StrAppend(
          &text, "  ", host.name, ": ",
          host.start.empty() ? "lcrun is started there by hand" : base::StrJoin(host.start, " "),
          "\n");
    }
    share there = own_share(job, options);
    there.ranks = host.ranks;
    for (int local = 0; local < host.ranks; ++local) {
      // Which cores another host has is seen there.
      const std::vector<int> cores =
          job.helpers ? std::vector<int>() : plan_rank(there, local).cores;
      base::StrAppend(
          &text, "  rank ", host.first_rank + local, " on ", host.name,
          cores.empty() ? "" : base::StrCat(", cores ", base::StrJoin(cores, ",")), ": ",
          base::StrJoin(program_of(job.programs, host.first_rank + local).command, " "), "\n");
    }
  }
  return text;
}

}  // namespace lci::launcher
