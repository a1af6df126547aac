#include "tools/launcher/spellings.h"

#include <string_view>

#include "lci/base/strings.h"
#include "tools/launcher/hosts.h"
#include "tools/launcher/option_table.h"

namespace lci::launcher {
namespace {

// Of --cpu-bind.
constexpr cli::word<binding> srun_bindings[] = {
    {"none", binding::none},  {"no", binding::none},   {"cores", binding::core},
    {"ldoms", binding::numa}, {"ldom", binding::numa}, {"sockets", binding::socket},
};

// NAME VALUE
cli::value assignment(std::vector<std::string>* to) {
  cli::value value = exports(to, 0);
  value.allowed = "NAME VALUE or NAME=VALUE";
  value.is_assignment = true;
  return value;
}

// A list such as n[1-3,7].
cli::value node_list(launch_options* job) {
  cli::value value;
  value.allowed = "a list of hosts, such as n[1-3,7]";
  value.set = [set = hosts(&job->host_list, &job->host_file).set](std::string_view text) {
    const base::StatusOr<std::vector<host_slots>> listed = parse_slurm(text, "");
    if (!listed.ok()) return false;
    std::vector<std::string> names;
    for (const host_slots& host : *listed) names.push_back(host.name);
    return set(base::StrJoin(names, ","));
  };
  return value;
}

cli::value one_per_host(int* per_host) {
  cli::value value;
  value.is_flag = true;
  value.set = [per_host](std::string_view) {
    *per_host = 1;
    return true;
  };
  return value;
}

}  // namespace

std::vector<cli::option> program_spellings(program_options* program) {
  return {
      {"--n, --ntasks", "N", "", cli::number(1, max_ranks, &program->ranks)},
      {"--env", "NAME VALUE", "", assignment(&program->exports)},
      {"--envlist", "A,B", "", exports(&program->exports, ',')},
      {"-D, --chdir, --wd", "DIR", "", cli::text(&program->wdir)},
  };
}

std::vector<cli::option> job_spellings(launch_options* job) {
  return {
      {"--genv", "NAME VALUE", "", assignment(&job->exports)},
      {"--genvlist", "A,B", "", exports(&job->exports, ',')},
      {"--tag-output, --prepend-rank", "", "", cli::flag(&job->label)},
      {"--timestamp-output", "", "", cli::flag(&job->timestamp)},
      {"--hosts", "LIST", "", hosts(&job->host_list, &job->host_file)},
      {"-w, --nodelist", "LIST", "", node_list(job)},
      {"-N, --npernode, --perhost, --ntasks-per-node, --tasks-per-node, --nproc-per-node, "
       "--nproc_per_node",
       "N", "", cli::number(1, max_ranks, &job->per_host)},
      {"--pernode", "", "", one_per_host(&job->per_host)},
      {"--nodes", "N", "", cli::number(1, max_hosts, &job->nodes)},
      {"--cpu-bind", "WHAT", "", cli::choice(srun_bindings, &job->bind_to)},
      {"-O, --overcommit", "", "", cli::flag(&job->oversubscribe)},
      {"--node_rank", "K", "", cli::number(0, max_hosts - 1, &job->node_rank)},
      {"--rdzv_endpoint", "HOST:PORT|FILE", "", cli::text(&job->endpoint)},
  };
}

std::vector<cli::option> foreign_options() {
  struct row {
    const char* names;
    const char* launcher;
    const char* advice;
  };
  static constexpr row rows[] = {
      {"--mca, --gmca, --pmixmca, --prtemca, --am, --tune", "Open MPI",
       "lcrun has no MCA parameters; set a variable LCI_ATTR_... with -x"},
      {"--launcher, --launcher-exec, --bootstrap, --bootstrap-exec", "MPICH",
       "write --launch-agent COMMAND"},
      {"--prefix, --noprefix", "Open MPI", "write --remote-lcrun PATH"},
      {"--app, --configfile, --multi-prog", "Open MPI, MPICH or srun",
       "write the programs on the command line, with ':' between them"},
      {"-c, --cpus-per-task, --cpus-per-proc, --cpus-per-rank", "srun or Open MPI",
       "write --bind-to core, which divides the processors of a host among its ranks"},
      {"-m, --distribution, --rank-by, --rankfile, --rf", "srun or Open MPI",
       "write --map-by node, or name the hosts in the order of the ranks with --host"},
      {"-o, -e, --output, --error, --output-filename, --outfile, --errfile, "
       "--outfile-pattern, --errfile-pattern",
       "srun, Open MPI or MPICH", "write --output-dir DIR for files, or --label and --timestamp"},
      {"-i, -s, --input", "srun or MPICH", "write --stdin RANK, and redirect the input of lcrun"},
      {"-t, --time", "srun", "write --timeout SECONDS"},
      {"--export, --envall, --genvall, --envnone, --genvnone, --envuser", "srun or MPICH",
       "write -x NAME[=VALUE] for each variable; on one host the ranks have all of them anyway"},
      {"--display, --display-map, --display-devel-map, --display-allocation, --do-not-launch",
       "Open MPI", "write --dry-run, which starts nothing, or --verbose"},
      {"-K, -W, --kill-on-bad-exit, --wait, --enable-recovery, --disable-auto-cleanup",
       "srun, Open MPI or MPICH",
       "leave it out: a rank that fails ends the job, after --grace SECONDS by SIGKILL"},
      {"--mpi, --pmi-port, --personality", "srun, MPICH or Open MPI",
       "leave it out: lcrun itself connects the ranks"},
      {"--allow-run-as-root", "Open MPI", "leave it out: lcrun serves any user"},
      {"-q, --quiet", "srun or Open MPI", "leave it out: lcrun prints failures and warnings only"},
      {"-u, --unbuffered", "srun", "start the program through stdbuf -oL"},
      {"-p, -A, -J, -G, -C, --partition, --account, --job-name, --gres, --gpus, "
       "--gpus-per-task, --gpus-per-node, --mem, --mem-per-cpu, --constraint, --qos, "
       "--reservation, --exclusive, --overlap, --exact",
       "srun", "give it to salloc or sbatch; lcrun uses the hosts of the allocation"},
      {"--xterm, --debug, --gdb, --debugger, --tv", "Open MPI or MPICH",
       "start the debugger as the program: lcrun -n 2 xterm -e gdb ./program"},
      {"--nooversubscribe, --no-oversubscribe", "Open MPI",
       "leave it out: lcrun warns of more ranks than processors"},
      {"--use-hwthread-cpus, --mem-bind", "Open MPI or srun",
       "leave it out, or start the program through numactl"},
      {"--nolocal", "Open MPI", "name the hosts with --host"},
      {"--get-stack-traces, --report-state-on-timeout", "Open MPI",
       "leave it out: at --timeout, lcrun names the ranks that still run"},
  };
  std::vector<cli::option> options;
  for (const row& one : rows) {
    options.push_back({one.names,
                       "",
                       "",
                       {},
                       base::StrCat("is an option of ", one.launcher, " that lcrun does not have; ",
                                    one.advice)});
  }
  return options;
}

}  // namespace lci::launcher
