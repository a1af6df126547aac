#include "lci/boot/environment.h"

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "lci/base/env.h"
#include "lci/base/strings.h"
#include "lci/boot/job_id.h"
#include "lci/boot/process.h"

namespace lci::boot {
namespace {

// Condition for using a row.
enum class when {
  one_is_set,    // an error if the other is missing, unless a later row has both
  both_are_set,  // the names have other uses too, or exist outside of a launched step
};

struct launcher_row {
  const char* launcher;
  when taken;
  const char* rank;
  const char* size;        // nullptr: not available
  const char* local_rank;  // nullptr, as well as the next two
  const char* local_size;
  const char* nodes;             // number of machines
  std::vector<const char*> job;  // together a name of the job, equal on all its machines
};

// In order of precedence: variables set by hand or by lcrun first; then launchers that are often
// started by another launcher of the table (torchrun and mpirun within a Slurm step) before that
// one.
const std::vector<launcher_row>& launchers() {
  constexpr when any = when::one_is_set, both = when::both_are_set;
  // clang-format off
  static const auto& rows = *new std::vector<launcher_row>{
      {"lcrun or the user", any, "LCI_RANK", "LCI_SIZE", "LCI_LOCAL_RANK", "LCI_LOCAL_SIZE",
       nullptr, {"LCI_JOB_ID"}},
      {"torchrun", both, "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE",
       "GROUP_WORLD_SIZE",
       // The user may have named no run, and then all runs have the same name.
       {"TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RESTART_COUNT"}},
      {"Open MPI", any, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
       "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE",
       nullptr, {"PMIX_NAMESPACE"}},
      {"MVAPICH", any, "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE",
       "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE",
       nullptr, {}},
      {"PALS", any, "PALS_RANKID", "PMI_SIZE", "PALS_LOCAL_RANKID", "PALS_LOCAL_SIZE",
       nullptr, {"PALS_APID"}},
      {"jsrun", any, "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_LOCAL_RANK",
       "JSM_NAMESPACE_LOCAL_SIZE", nullptr, {"PMIX_NAMESPACE"}},
      {"Flux", any, "FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_LOCAL_ID", nullptr,
       "FLUX_JOB_NNODES", {"FLUX_JOB_ID"}},
      // Before Slurm: Hydra starts its proxies with srun, and its ranks inherit the variables of
      // srun.
      {"MPICH (Hydra) or another PMI launcher", any, "PMI_RANK", "PMI_SIZE",
       "MPI_LOCALRANKID", "MPI_LOCALNRANKS",
       nullptr, {"PMI_JOBID"}},
      // Only srun sets the size of the step (not of the allocation): the process of a batch script
      // is not a rank.
      {"Slurm", both, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", nullptr, nullptr,
       "SLURM_STEP_NUM_NODES", {"SLURM_JOB_ID", "SLURM_STEP_ID"}},
      {"a PMIx launcher", any, "PMIX_RANK", nullptr, nullptr, nullptr,
       nullptr, {}},
  };
  // clang-format on
  return rows;
}

std::optional<std::string> text_of(const char* variable) {
  if (variable == nullptr) return std::nullopt;
  return base::env_text(variable);
}

base::Status unclear(const launcher_row& row, std::string_view what) {
  return base::InvalidArgumentError(
      base::StrCat("this process was started by ", row.launcher, " (",
                   text_of(row.rank) ? row.rank : row.size, " is set), but ", what,
                   "; set LCI_RANK and LCI_SIZE in every rank, or LCI_BOOT=local and neither of "
                   "them if it is to be a job of its own"));
}

// Makes a name of the launcher's own variables. Empty if one of them is not set.
std::string global_job(const launcher_row& row) {
  std::string job;
  for (const char* variable : row.job) {
    const std::optional<std::string> value = text_of(variable);
    if (!value) return "";
    base::StrAppend(&job, job.empty() ? "" : ".", *value);
  }
  if (job.empty()) return "";
  return base::StrCat(row.rank, ".", job);
}

// Makes a valid file name of limited length.
std::string file_name(const std::string& text) {
  std::string name;
  bool changed = text.size() > 64;
  for (char c : text) {
    const bool good = is_job_id_text(std::string_view(&c, 1)) || c == '.';
    changed |= !good;
    name.push_back(good ? c : '_');
  }
  if (!changed) return name;
  // It is equal in all processes, unlike the hashes of containers.
  return base::StrCat(name.substr(0, 40), "-", base::Hex(base::Fnv1a(text), 16));
}

base::StatusOr<launch> read_row(const launcher_row& row) {
  launch found;
  found.launcher = row.launcher;
  constexpr int max_size = 1 << 24;
  base::Status invalid;  // the first error
  const auto number = [&](const char* variable, int least, int most) {
    const auto parsed = base::parse_int64(variable, *text_of(variable), least, most);
    if (!parsed.ok()) invalid.Update(unclear(row, parsed.status().message()));
    return static_cast<int>(parsed.value_or(least));
  };
  job_position& position = found.position;
  position.size = number(row.size, 1, max_size);
  position.rank = number(row.rank, 0, position.size - 1);
  position.local_size = 0;
  if (text_of(row.local_rank) && text_of(row.local_size)) {
    position.local_size = number(row.local_size, 1, position.size);
    position.local_rank = number(row.local_rank, 0, position.local_size - 1);
    found.several_nodes = position.local_size < position.size;
  }
  if (text_of(row.nodes)) {
    const int nodes = number(row.nodes, 1, max_size);
    found.several_nodes = nodes > 1;
    // One machine: every rank is there, in order.
    if (nodes == 1 && position.local_size == 0) {
      position.local_rank = position.rank;
      position.local_size = position.size;
    }
  }
  if (!invalid.ok()) return invalid;
  std::string job = global_job(row);
  // On one machine the process that has started the ranks is a better name: the variable may be
  // left over in the shell.
  const std::optional<std::string> given = base::env_text("LCI_JOB_ID");
  if (job.empty() && given && found.several_nodes) job = base::StrCat(row.rank, ".", *given);
  found.job_is_global = !job.empty();
  if (job.empty()) {
    // The variables were set by the common ancestor of all ranks on this machine. There may be
    // shells in between.
    const std::optional<process_id> parent = ancestor_without(row.rank);
    if (!parent) {
      return base::InvalidArgumentError(base::StrCat(
          "started by ", row.launcher, ", which gives this job no name, and /proc does not show ",
          "which process it is; set LCI_JOB_ID to the same text in all ranks"));
    }
    job = base::StrCat(row.rank, ".", parent->pid, ".", parent->start_time);
  }
  found.job = file_name(job);
  return found;
}

}  // namespace

base::StatusOr<std::optional<launch>> read_launch() {
  // Error of the first incomplete row; returned unless a later row is complete.
  base::Status incomplete;
  for (const launcher_row& row : launchers()) {
    const bool rank = text_of(row.rank).has_value();
    const bool size = text_of(row.size).has_value();
    if (rank && size) {
      base::StatusOr<launch> found = read_row(row);
      if (!found.ok()) return found.status();
      return std::make_optional(*std::move(found));
    }
    if ((rank || size) && row.taken == when::one_is_set && incomplete.ok()) {
      incomplete = unclear(row, row.size == nullptr
                                    ? "it does not say how many ranks there are"
                                    : base::StrCat(rank ? row.size : row.rank, " is not set"));
    }
  }
  if (!incomplete.ok()) return incomplete;
  return std::optional<launch>();
}

}  // namespace lci::boot
