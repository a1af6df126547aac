#include "tools/launcher/option_table.h"

#include <cmath>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "lci/base/strings.h"
#include "tools/launcher/hosts.h"

namespace lci::launcher {
namespace {

constexpr double max_seconds = 1e9;

constexpr cli::word<binding> bindings[] = {
    {"none", binding::none, "nothing"},
    {"core", binding::core, "its own of the host's cores, divided evenly"},
    {"numa", binding::numa, "the NUMA node of its cores"},
    {"socket", binding::socket, "the socket of its cores"},
};
constexpr cli::word<mapping> mappings[] = {
    {"slot", mapping::slot, "fill the hosts, and the cores of each, in order"},
    {"core", mapping::core, "as slot, with --bind-to core"},
    {"numa", mapping::numa, "deal the ranks of a host to its NUMA nodes in turn"},
    {"socket", mapping::socket, "deal the ranks of a host to its sockets in turn"},
    {"node", mapping::node, "deal the ranks to the hosts in turn"},
};
constexpr cli::word<report_request> report_formats[] = {
    {"text", report_request::text, "for people"},
    {"json", report_request::json, "one JSON object, for tools"},
};
constexpr cli::word<bootstrap_kind> bootstraps[] = {
    {"tcp", bootstrap_kind::tcp, "a server in lcrun"},
    {"file", bootstrap_kind::file, "a directory, on one host"},
};

// The same value with an action after it has been set.
cli::value then(cli::value value, std::function<void()> action) {
  value.set = [set = std::move(value.set), action = std::move(action)](std::string_view text) {
    const bool is_set = set(text);
    if (is_set) action();
    return is_set;
  };
  return value;
}

cli::value seconds(double least, std::chrono::milliseconds* to) {
  const auto number = std::make_shared<double>(static_cast<double>(to->count()) / 1000);
  cli::value value = cli::real(least, max_seconds, number.get());
  // Rounded up, because 0 does not mean a very short time.
  return then(std::move(value), [number, to] {
    *to = std::chrono::milliseconds(static_cast<int64_t>(std::ceil(*number * 1000)));
  });
}

cli::value rank_or_none(int* to) {
  cli::value value = cli::number(0, max_ranks - 1, to);
  value.allowed = "a rank or none";
  value.set = [to, set = std::move(value.set)](std::string_view text) {
    if (text != "none") return set(text);
    *to = launch_options::no_rank;
    return true;
  };
  return value;
}

// "ppr:N:node", as Open MPI has it, is another form of --ppn N.
cli::value placement(mapping* to, int* per_host) {
  cli::value value = cli::choice(mappings, to);
  value.allowed = "slot, core, numa, socket, node or ppr:N:node";
  const auto set_per_host = cli::number(1, max_ranks, per_host).set;
  value.set = [set = std::move(value.set), set_per_host](std::string_view text) {
    if (set(text)) return true;
    return base::ConsumePrefix(&text, "ppr:") && base::ConsumeSuffix(&text, ":node") &&
           set_per_host(text);
  };
  return value;
}

}  // namespace

cli::value exports(std::vector<std::string>* to, char separator) {
  cli::value value = cli::list(to, separator);
  value.allowed = "NAME or NAME=VALUE";
  value.set = [set = std::move(value.set), separator](std::string_view text) {
    const bool has_nameless =
        base::StartsWith(text, "=") ||
        (separator != 0 && base::StrContains(text, std::string{separator, '='}));
    return !has_nameless && set(text);
  };
  return value;
}

cli::value hosts(std::string* to, std::string* other) {
  return then(cli::text(to), [other] { other->clear(); });
}

std::vector<cli::option> program_option_table(program_options* program) {
  return {
      {"-n, --np", "N", "start N ranks",
       cli::number(1, max_ranks, &program->ranks)
           .with_default("1, or as many as the hosts have slots")},
      {"-x", "NAME[=VALUE]",
       "set a variable for the ranks, or pass on lcrun's, which must be set; may be repeated (in "
       "LCRUN_X: several, separated by ';')",
       exports(&program->exports, 0)},
      {"--wdir", "DIR", "the ranks' working directory; a relative program is looked up there",
       cli::text(&program->wdir)},
  };
}

// A table, with a row for each option in the order of --help: hence more than 60 lines.
std::vector<cli::option> job_option_table(launch_options* job) {
  return {
      cli::section("Processors"),
      {"--bind-to", "WHAT", "what each rank is bound to",
       cli::choice(bindings, &job->bind_to).with_default("none, or as --map-by")},
      {"--map-by", "ORDER", "the order in which ranks are placed",
       placement(&job->map_by, &job->per_host)},
      {"--report-bindings", "", "print the processors that each rank is bound to",
       cli::flag(&job->report_bindings)},
      {"--oversubscribe", "", "do not warn of more ranks than processors",
       cli::flag(&job->oversubscribe)},
      cli::section("Input and output"),
      {"-l, --label", "",
       "begin each line of output with \"[rank] \", on several hosts with \"[rank host] \"; lines "
       "of two ranks never mix",
       cli::flag(&job->label)},
      {"--timestamp", "",
       "begin each line of output with the time at which lcrun read it (such as \"2026-01-31 "
       "23:59:59.123 \")",
       cli::flag(&job->timestamp)},
      {"--output-dir", "DIR",
       "write the output of rank R to DIR/rank.R.stdout and DIR/rank.R.stderr on this machine "
       "instead",
       cli::text(&job->output_dir)},
      {"--stdin", "RANK|none",
       "the rank that reads lcrun's standard input; the others read an empty one",
       rank_or_none(&job->stdin_rank)},
      {"-v, --verbose", "", "report each step", cli::flag(&job->verbose)},
      {"--stats", "",
       "count the messages of the ranks, and print a table that compares the ranks at the end "
       "(LCI_STATS=1)",
       cli::flag(&job->stats)},
      {"--dry-run", "", "print what would be run, and run nothing", cli::flag(&job->dry_run)},
      cli::section("End of the job"),
      {"--timeout", "SECONDS", "end the job after this time, with exit code 124; 0: never",
       seconds(0, &job->timeout)},
      {"--grace", "SECONDS", "time between SIGTERM and SIGKILL when the job is ended",
       seconds(0, &job->grace)},
      cli::section("Hosts"),
      {"-f, --hostfile", "FILE",
       "the hosts: lines \"host\", \"host slots=N\" or \"host:N\" with N ranks each, 1 without a "
       "number",
       hosts(&job->host_file, &job->host_list)},
      {"--machinefile", "FILE", "the same as --hostfile", hosts(&job->host_file, &job->host_list)},
      {"-H, --host", "HOST[:N],...", "the hosts", hosts(&job->host_list, &job->host_file)},
      {"--ppn", "N", "start N ranks per host, whatever its slots",
       cli::number(1, max_ranks, &job->per_host).with_default("")},
      {"--nnodes", "N", "use only the first N of the hosts",
       cli::number(1, max_hosts, &job->nodes).with_default("")},
      {"--launch-agent", "COMMAND", "what starts a program on another host, with %h for the host",
       cli::text(&job->agent).with_default("that of the batch system, else ssh")},
      {"--remote-lcrun", "PATH", "lcrun on the other hosts",
       cli::text(&job->remote_lcrun).with_default("the same path as here")},
      {"--iface", "NAME|ADDRESS", "the network interface by which other hosts reach this lcrun",
       cli::text(&job->interface)},
      {"--fan-out", "N", "hosts that one lcrun starts; the first hosts start those beyond",
       cli::number(1, max_hosts, &job->fan_out)},
      {"--start-timeout", "SECONDS", "time by which all hosts must have connected",
       seconds(0, &job->start_timeout)},
      {"--host-timeout", "SECONDS",
       "a host that does not answer for this time, at least 1, is lost, and the job ends",
       seconds(1, &job->host_timeout)},
      {"--boot", "HOW", "how ranks find each other", cli::choice(bootstraps, &job->boot)},
      cli::section("Reports of jobs that run"),
      {"--report", "",
       "start nothing, but print what the ranks of a job wait for: lcrun --report [JOB]; without "
       "JOB, its id, of the only job of this user on this host",
       cli::flag(&job->report)},
      {"--report-format", "FORMAT", "the form of the report",
       cli::choice(report_formats, &job->report_request)},
      {"--report-dir", "DIR", "where jobs have their sockets for --report",
       cli::text(&job->report_dir).with_default("/tmp/lcrun-jobs-UID")},
      cli::section("Hosts without a launch agent"),
      {"--node-rank", "K",
       "start only host K of the --nnodes; lcrun is started by hand on each, with the same "
       "program; "
       "host 0 serves the others and has the output",
       cli::number(0, max_hosts - 1, &job->node_rank).with_default("")},
      {"--rdzv-endpoint", "HOST:PORT|FILE",
       "where host 0 serves, with --node-rank; LCI_BOOT_TOKEN is then the same secret on all. Or "
       "the file that --report-uri has written",
       cli::text(&job->endpoint)},
      {"--report-uri", "FILE|-", "write where this lcrun serves, and its secret, to a file",
       cli::text(&job->report_uri)},
  };
}

}  // namespace lci::launcher
