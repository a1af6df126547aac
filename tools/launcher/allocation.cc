#include "tools/launcher/allocation.h"

#include <cerrno>
#include <cstring>
#include <optional>

#include "lci/base/env.h"
#include "lci/base/strings.h"
#include "lci/io/files.h"
#include "tools/launcher/plan.h"

namespace lci::launcher {
namespace {

using parse_file = base::StatusOr<std::vector<host_slots>> (*)(std::string_view source,
                                                               std::string_view text);

struct batch_system {
  const char* variable;
  parse_file parse;     // of the file that the variable names; null: the hosts of Slurm
  const char* program;  // which starts programs on the hosts; null: none that passes input on
  const char* agent;
};

// In order of precedence.
constexpr batch_system systems[] = {
    {"SLURM_JOB_NODELIST", nullptr, "srun",
     "srun --nodes=1 --ntasks=1 --overlap --cpu-bind=none --kill-on-bad-exit=0 --nodelist=%h"},
    // OpenPBS, PBS Professional, Torque. A host has a line for each of its ranks.
    {"PBS_NODEFILE", parse_host_file, nullptr, nullptr},
    {"LSB_DJOB_HOSTFILE", parse_host_file, "blaunch", "blaunch -no-shell %h"},  // LSF
    {"PE_HOSTFILE", parse_grid_engine, "qrsh", "qrsh -inherit %h"},
    {"OAR_NODEFILE", parse_host_file, "oarsh", "oarsh %h"},
};

base::StatusOr<std::vector<host_slots>> hosts_of(const batch_system& system,
                                                 const std::string& value) {
  if (system.parse == nullptr) {
    return parse_slurm(value, base::env_string("SLURM_TASKS_PER_NODE", ""));
  }
  const std::string source = base::StrCat(system.variable, "=", value);
  const std::optional<std::string> text = io::read_file(value);
  if (text) return system.parse(source, *text);
  return base::InvalidArgumentError(base::StrCat(source, ": ", std::strerror(errno),
                                                 "; name the hosts with --host or --hostfile"));
}

}  // namespace

base::StatusOr<allocation> find_allocation() {
  for (const batch_system& system : systems) {
    const std::optional<std::string> value = base::env_text(system.variable);
    if (!value) continue;
    base::StatusOr<std::vector<host_slots>> hosts = hosts_of(system, *value);
    if (!hosts.ok()) return hosts.status();
    const bool has_program = system.program != nullptr && find_program(system.program, "").ok();
    return allocation{*std::move(hosts), has_program ? system.agent : ""};
  }
  return allocation();
}

}  // namespace lci::launcher
