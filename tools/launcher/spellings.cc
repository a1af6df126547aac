#include "tools/launcher/spellings.h"

#include <string>
#include <string_view>
#include <utility>

#include "lci/base/status.h"
#include "lci/base/strings.h"
#include "tools/launcher/hosts.h"
#include "tools/launcher/option_table.h"

namespace lci::launcher {
namespace {

using words = std::vector<std::string_view>;

base::Status apply_to(std::string_view option, std::string_view source, std::string_view text,
                      launch_options& options) {
  for (const option_spec& spec : option_specs()) {
    if (spec.name == option) return spec.apply(source, text, options);
  }
  return base::InternalError(base::StrCat("no option is called ", option));
}

std::string assignment_of(const words& said) {
  return said.size() == 1 ? std::string(said[0]) : base::StrCat(said[0], "=", said[1]);
}

// -env NAME VALUE
base::Status export_pair(std::string_view source, const words& said, launch_options& options) {
  return apply_to("x", source, assignment_of(said), options);
}

// Checks the variables by the rules of -x, and keeps them for all programs.
base::Status export_to_all(std::string_view source, std::string_view text,
                           launch_options& options) {
  launch_options checked;
  if (base::Status s = apply_to("x", source, text, checked); !s.ok()) return s;
  options.exports.push_back(checked.programs[0].exports[0]);
  return base::OkStatus();
}

// -genv NAME VALUE
base::Status export_pair_to_all(std::string_view source, const words& said,
                                launch_options& options) {
  return export_to_all(source, assignment_of(said), options);
}

// -envlist A,B
base::Status export_list(std::string_view source, const words& said, launch_options& options) {
  for (std::string_view name : base::StrSplit(said[0], ',')) {
    if (base::Status s = apply_to("x", source, name, options); !s.ok()) return s;
  }
  return base::OkStatus();
}

// -genvlist A,B
base::Status export_list_to_all(std::string_view source, const words& said,
                                launch_options& options) {
  for (std::string_view name : base::StrSplit(said[0], ',')) {
    if (base::Status s = export_to_all(source, name, options); !s.ok()) return s;
  }
  return base::OkStatus();
}

base::Status one_per_host(std::string_view source, const words&, launch_options& options) {
  return apply_to("ppn", source, "1", options);
}

// --nodelist n[1-3,7]
base::Status set_node_list(std::string_view source, const words& said, launch_options& options) {
  const base::StatusOr<std::vector<host_slots>> hosts = parse_slurm(said[0], "");
  if (!hosts.ok()) {
    return base::InvalidArgumentError(base::StrCat(source, ": ", hosts.status().message()));
  }
  std::string list;
  for (const host_slots& host : *hosts) {
    base::StrAppend(&list, list.empty() ? "" : ",", host.name);
  }
  return apply_to("host", source, list, options);
}

// --cpu-bind=cores
base::Status set_cpu_binding(std::string_view source, const words& said, launch_options& options) {
  static constexpr std::pair<const char*, const char*> values[] = {
      {"none", "none"},  {"no", "none"},   {"cores", "core"},
      {"ldoms", "numa"}, {"ldom", "numa"}, {"sockets", "socket"}};
  for (const auto& [theirs, ours] : values) {
    if (said[0] == theirs) return apply_to("bind-to", source, ours, options);
  }
  return base::InvalidArgumentError(base::StrCat(
      source, "=\"", said[0], "\" is not accepted; give one of: none, cores, ldoms, sockets"));
}

constexpr bool whole_job = true;

}  // namespace

const std::vector<spelling>& spellings() {
  static const std::vector<spelling> list = {
      {"n", 0, "np", 1},
      {"ntasks", 0, "np", 1},
      {"env", 0, "x", 2, export_pair},
      {"genv", 0, "x", 2, export_pair_to_all, whole_job},
      {"envlist", 0, "x", 1, export_list},
      {"genvlist", 0, "x", 1, export_list_to_all, whole_job},
      {"wd", 0, "wdir", 1},
      {"chdir", 'D', "wdir", 1},
      {"tag-output", 0, "label", 0},
      {"prepend-rank", 0, "label", 0},
      {"timestamp-output", 0, "timestamp", 0},
      {"hosts", 0, "host", 1},
      {"nodelist", 'w', "host", 1, set_node_list},
      {"npernode", 'N', "ppn", 1},
      {"perhost", 0, "ppn", 1},
      {"ntasks-per-node", 0, "ppn", 1},
      {"tasks-per-node", 0, "ppn", 1},
      {"nproc-per-node", 0, "ppn", 1},
      {"nproc_per_node", 0, "ppn", 1},
      {"pernode", 0, "ppn", 0, one_per_host},
      {"nodes", 0, "nnodes", 1},
      {"cpu-bind", 0, "bind-to", 1, set_cpu_binding},
      {"overcommit", 'O', "oversubscribe", 0},
      {"node_rank", 0, "node-rank", 1},
      {"rdzv_endpoint", 0, "rdzv-endpoint", 1},
  };
  return list;
}

const std::vector<foreign_option>& foreign_options() {
  static const std::vector<foreign_option> list = {
      {"mca gmca pmixmca prtemca am tune", "Open MPI",
       "lcrun has no MCA parameters; set a variable LCI_ATTR_... with -x"},
      {"launcher launcher-exec bootstrap bootstrap-exec", "MPICH", "write --launch-agent COMMAND"},
      {"prefix noprefix", "Open MPI", "write --remote-lcrun PATH"},
      {"app configfile multi-prog", "Open MPI, MPICH or srun",
       "write the programs on the command line, with ':' between them"},
      {"c cpus-per-task cpus-per-proc cpus-per-rank", "srun or Open MPI",
       "write --bind-to core, which divides the processors of a host among its ranks"},
      {"m distribution rank-by rankfile rf", "srun or Open MPI",
       "write --map-by node, or name the hosts in the order of the ranks with --host"},
      {"o e output error output-filename outfile errfile outfile-pattern errfile-pattern",
       "srun, Open MPI or MPICH", "write --output-dir DIR for files, or --label and --timestamp"},
      {"i s input", "srun or MPICH", "write --stdin RANK, and redirect the input of lcrun"},
      {"t time", "srun", "write --timeout SECONDS"},
      {"export envall genvall envnone genvnone envuser", "srun or MPICH",
       "write -x NAME[=VALUE] for each variable; on one host the ranks have all of them anyway"},
      {"display display-map display-devel-map display-allocation do-not-launch", "Open MPI",
       "write --dry-run, which starts nothing, or --verbose"},
      {"K W kill-on-bad-exit wait enable-recovery disable-auto-cleanup", "srun, Open MPI or MPICH",
       "leave it out: a rank that fails ends the job, after --grace SECONDS by SIGKILL"},
      {"mpi pmi-port personality", "srun, MPICH or Open MPI",
       "leave it out: lcrun itself connects the ranks"},
      {"allow-run-as-root", "Open MPI", "leave it out: lcrun serves any user"},
      {"q quiet", "srun or Open MPI", "leave it out: lcrun prints failures and warnings only"},
      {"u unbuffered", "srun", "start the program through stdbuf -oL"},
      {"p A J G C partition account job-name gres gpus gpus-per-task gpus-per-node mem mem-per-cpu "
       "constraint qos reservation exclusive overlap exact",
       "srun", "give it to salloc or sbatch; lcrun uses the hosts of the allocation"},
      {"xterm debug gdb debugger tv", "Open MPI or MPICH",
       "start the debugger as the program: lcrun -n 2 xterm -e gdb ./program"},
      {"nooversubscribe no-oversubscribe", "Open MPI",
       "leave it out: lcrun warns of more ranks than processors"},
      {"use-hwthread-cpus mem-bind", "Open MPI or srun",
       "leave it out, or start the program through numactl"},
      {"nolocal", "Open MPI", "name the hosts with --host"},
      {"get-stack-traces report-state-on-timeout", "Open MPI",
       "leave it out: at --timeout, lcrun names the ranks that still run"},
  };
  return list;
}

base::Status check_foreign(std::string_view word) {
  std::string_view name = word.substr(0, word.find('='));
  if (!base::ConsumePrefix(&name, "-")) return base::OkStatus();
  const bool two_dashes = base::ConsumePrefix(&name, "-");
  if (name.empty() || (two_dashes && name.size() == 1)) return base::OkStatus();
  // A letter and its value in one word: -c4.
  if (!two_dashes && name.find_first_not_of("0123456789", 1) == name.npos) name = name.substr(0, 1);
  for (const foreign_option& option : foreign_options()) {
    for (std::string_view known : base::StrSplit(option.names, ' ')) {
      if (known != name) continue;
      return base::InvalidArgumentError(base::StrCat(two_dashes ? "--" : "-", name,
                                                     " is an option of ", option.launcher,
                                                     " that lcrun does not have; ", option.advice));
    }
  }
  return base::OkStatus();
}

}  // namespace lci::launcher
