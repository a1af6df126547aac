#include "tools/launcher/option_table.h"

#include <cmath>
#include <string_view>

#include "absl/strings/str_replace.h"
#include "lci/base/env.h"
#include "lci/base/status.h"
#include "lci/base/strings.h"
#include "tools/launcher/hosts.h"

namespace lci::launcher {
namespace {

constexpr std::string_view variable_prefix = "LCRUN_";
constexpr int max_ranks = 1000000;
constexpr double max_seconds = 1e9;

template <bool launch_options::*member>
base::Status set_switch(std::string_view source, std::string_view text, launch_options& options) {
  base::StatusOr<bool> on = base::parse_bool(source, text);
  if (on.ok()) options.*member = *on;
  return on.status();
}

template <std::string launch_options::*member>
base::Status set_text(std::string_view source, std::string_view text, launch_options& options) {
  if (text.empty()) return base::InvalidArgumentError(base::StrCat(source, ": the value is empty"));
  options.*member = std::string(text);
  return base::OkStatus();
}

template <std::chrono::milliseconds launch_options::*member, int least = 0>
base::Status set_seconds(std::string_view source, std::string_view text, launch_options& options) {
  base::StatusOr<double> seconds = base::parse_double(source, text, least, max_seconds);
  if (!seconds.ok()) return seconds.status();
  // Rounded up: 0 means something else than a very short time.
  options.*member = std::chrono::milliseconds(static_cast<int64_t>(std::ceil(*seconds * 1000)));
  return base::OkStatus();
}

template <auto member, class Enum, size_t count>
base::Status set_enum(std::string_view source, std::string_view text, launch_options& options,
                      const base::enum_name<Enum> (&accepted)[count]) {
  base::StatusOr<Enum> value = base::parse_enum(source, text, accepted);
  if (value.ok()) options.*member = *value;
  return value.status();
}

template <int launch_options::*member, int min, int max>
base::Status set_number(std::string_view source, std::string_view text, launch_options& options) {
  base::StatusOr<int64_t> n = base::parse_int64(source, text, min, max);
  if (n.ok()) options.*member = static_cast<int>(*n);
  return n.status();
}

base::Status set_ranks(std::string_view source, std::string_view text, launch_options& options) {
  base::StatusOr<int64_t> n = base::parse_int64(source, text, 1, max_ranks);
  if (n.ok()) options.programs.back().ranks = static_cast<int>(*n);
  return n.status();
}

base::Status set_directory(std::string_view source, std::string_view text,
                           launch_options& options) {
  if (text.empty()) return base::InvalidArgumentError(base::StrCat(source, ": the value is empty"));
  options.programs.back().wdir = std::string(text);
  return base::OkStatus();
}

// Of two ways to name the hosts the one that is said last counts, so that a command line wins over
// variables.
template <std::string launch_options::*member, std::string launch_options::*other>
base::Status set_hosts(std::string_view source, std::string_view text, launch_options& options) {
  (options.*other).clear();
  return set_text<member>(source, text, options);
}

base::Status add_export(std::string_view source, std::string_view text, launch_options& options) {
  if (text.empty() || text[0] == '=') {
    return base::InvalidArgumentError(
        base::StrCat(source, "=\"", text, "\" names no variable; give NAME or NAME=VALUE"));
  }
  options.programs.back().exports.emplace_back(text);
  return base::OkStatus();
}

base::Status set_stdin(std::string_view source, std::string_view text, launch_options& options) {
  if (base::EqualsIgnoreCase(text, "none")) {
    options.stdin_rank = launch_options::no_rank;
    return base::OkStatus();
  }
  base::StatusOr<int64_t> rank = base::parse_int64(source, text, 0, max_ranks - 1);
  if (!rank.ok()) {
    return base::InvalidArgumentError(
        base::StrCat(source, "=\"", text, "\" is not accepted; give a rank or none"));
  }
  options.stdin_rank = static_cast<int>(*rank);
  return base::OkStatus();
}

base::Status set_binding(std::string_view source, std::string_view text, launch_options& options) {
  return set_enum<&launch_options::bind_to, binding>(source, text, options,
                                                     {{"none", binding::none},
                                                      {"core", binding::core},
                                                      {"numa", binding::numa},
                                                      {"socket", binding::socket}});
}

base::Status set_mapping(std::string_view source, std::string_view text, launch_options& options) {
  std::string_view number = text;
  if (base::ConsumePrefix(&number, "ppr:") && base::ConsumeSuffix(&number, ":node")) {
    return set_number<&launch_options::per_host, 1, max_ranks>(source, number, options);
  }
  return set_enum<&launch_options::map_by, mapping>(source, text, options,
                                                    {{"slot", mapping::slot},
                                                     {"core", mapping::core},
                                                     {"numa", mapping::numa},
                                                     {"socket", mapping::socket},
                                                     {"node", mapping::node},
                                                     {"ppr:N:node", mapping::slot}});
}

base::Status set_bootstrap(std::string_view source, std::string_view text,
                           launch_options& options) {
  return set_enum<&launch_options::boot, bootstrap_kind>(
      source, text, options, {{"tcp", bootstrap_kind::tcp}, {"file", bootstrap_kind::file}});
}

constexpr bool per_program = true;
constexpr bool repeats = true;

}  // namespace

// getopt sees --np also as -np, as it does every long name with one dash (the custom of mpirun).
const std::vector<option_spec>& option_specs() {
  static const std::vector<option_spec> specs = {
      {"np", 'n', "N", "start N ranks (if not given: 1, or as many as the hosts have\nslots)",
       set_ranks, per_program},
      {"x", 'x', "NAME[=VALUE]",
       "set a variable for the ranks, or hand on lcrun's, which must be\n"
       "set; may be repeated (in LCRUN_X: several, separated by ';')",
       add_export, per_program, repeats},
      {"wdir", 0, "DIR", "the ranks' working directory; a relative program is\nlooked up there",
       set_directory, per_program},
      {"label", 'l', nullptr,
       "put \"[rank] \" before each line, on several hosts \"[rank host] \";\n"
       "lines of two ranks never mix",
       set_switch<&launch_options::label>},
      {"timestamp", 0, nullptr,
       "put the time at which lcrun has read it before each line (as\n"
       "\"2026-01-31 23:59:59.123 \")",
       set_switch<&launch_options::timestamp>},
      {"output-dir", 0, "DIR",
       "write each rank's output to DIR/rank.R.stdout and .stderr\n"
       "instead, on this machine",
       set_text<&launch_options::output_dir>},
      {"stdin", 0, "RANK|none",
       "the rank that gets lcrun's standard input (0 if not given);\n"
       "the others read an empty one",
       set_stdin},
      {"timeout", 0, "SECONDS", "end the job after this time, with exit code 124 (0: never)",
       set_seconds<&launch_options::timeout>},
      {"grace", 0, "SECONDS", "from SIGTERM to SIGKILL when the job is ended (5 if not given)",
       set_seconds<&launch_options::grace>},
      {"bind-to", 0, "none|core|numa|socket",
       "what ranks are bound to; core: the ranks of a host divide its\n"
       "cores evenly, and each is bound to its own; numa, socket: each\n"
       "is bound to the NUMA node or socket of its cores (none, or as\n"
       "--map-by, if not given)",
       set_binding},
      {"map-by", 0, "core|numa|socket|node",
       "the order in which ranks are placed; numa, socket: deal the\n"
       "ranks of a host to its NUMA nodes or sockets in turn; node: deal\n"
       "the ranks to the hosts in turn (hosts, and the cores of each,\n"
       "are filled in order if not given)",
       set_mapping},
      {"report-bindings", 0, nullptr, "print the processors that each rank is bound to",
       set_switch<&launch_options::report_bindings>},
      {"oversubscribe", 0, nullptr, "do not warn of more ranks than processors",
       set_switch<&launch_options::oversubscribe>},
      {"boot", 0, "tcp|file",
       "how ranks find each other: a server in lcrun, or a directory\n(tcp if not given)",
       set_bootstrap},
      {"hostfile", 'f', "FILE",
       "the hosts: lines \"host\", \"host slots=N\" or \"host:N\", N ranks\n"
       "each (1 if not given)",
       set_hosts<&launch_options::host_file, &launch_options::host_list>},
      {"machinefile", 0, "FILE", "the same as --hostfile",
       set_hosts<&launch_options::host_file, &launch_options::host_list>},
      {"host", 'H', "HOST[:N],...", "the hosts, said here",
       set_hosts<&launch_options::host_list, &launch_options::host_file>},
      {"ppn", 0, "N", "N ranks per host, whatever its slots",
       set_number<&launch_options::per_host, 1, max_ranks>},
      {"nnodes", 0, "N", "only the first N of the hosts",
       set_number<&launch_options::nodes, 1, max_hosts>},
      {"launch-agent", 0, "COMMAND",
       "what starts a program on another host, with %h for the host\n"
       "(if not given: ssh, in an allocation of Slurm srun)",
       set_text<&launch_options::agent>},
      {"remote-lcrun", 0, "PATH", "lcrun on the other hosts (the same path as here if not given)",
       set_text<&launch_options::remote_lcrun>},
      {"iface", 0, "NAME|ADDRESS", "the network interface by which other hosts reach this lcrun",
       set_text<&launch_options::interface>},
      {"fan-out", 0, "N",
       "hosts that one lcrun starts (32 if not given); those beyond\n"
       "are started by the first",
       set_number<&launch_options::fan_out, 1, max_hosts>},
      {"start-timeout", 0, "SECONDS", "until all hosts must be there (60 if not given)",
       set_seconds<&launch_options::start_timeout>},
      {"host-timeout", 0, "SECONDS",
       "a host that does not answer for so long is lost, and the job\nends (30 if not given, at "
       "least 1)",
       set_seconds<&launch_options::host_timeout, 1>},
      {"node-rank", 0, "K",
       "start only host K of the --nnodes; lcrun is started by hand on\n"
       "each, with the same program; host 0 serves the others and has\n"
       "the output",
       set_number<&launch_options::node_rank, 0, max_hosts - 1>},
      {"rdzv-endpoint", 0, "HOST:PORT|FILE",
       "where host 0 serves, with --node-rank; LCI_BOOT_TOKEN is then the\n"
       "same secret on all. Or the file that --report-uri has written",
       set_text<&launch_options::endpoint>},
      {"report-uri", 0, "FILE|-", "write where this lcrun serves, and its secret, to a file",
       set_text<&launch_options::report_uri>},
      {"dry-run", 0, nullptr, "print what would be run, and run nothing",
       set_switch<&launch_options::dry_run>},
      {"verbose", 'v', nullptr, "say what is done", set_switch<&launch_options::verbose>},
      {"version", 'V', nullptr, "print the version", set_switch<&launch_options::version>},
      {"help", 'h', nullptr, "print this", set_switch<&launch_options::help>},
  };
  return specs;
}

std::string variable_of(const option_spec& spec) {
  return base::StrCat(variable_prefix,
                      base::AsciiStrToUpper(absl::StrReplaceAll(spec.name, {{"-", "_"}})));
}

}  // namespace lci::launcher
