#include "tools/launcher/options.h"

#include <getopt.h>

#include <cmath>
#include <cstring>
#include <optional>
#include <string_view>

#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "lci/base/env.h"
#include "lci/base/status.h"
#include "lci/base/strings.h"
#include "tools/launcher/hosts.h"

namespace lci::launcher {
namespace {

constexpr int max_ranks = 1000000;
constexpr double max_seconds = 1e9;
constexpr std::string_view variable_prefix = "LCRUN_";

// `source` is what the user wrote it in: "--timeout" or "LCRUN_TIMEOUT".
using apply_function = base::Status (*)(std::string_view source, std::string_view text,
                                        launch_options& options);

// One option: the command line, the variable and the help all come from here.
struct option_spec {
  const char* name;
  char letter;        // 0: none
  const char* value;  // what the help calls it; nullptr: a switch
  const char* help;   // lines after the first are indented by help_text()
  apply_function apply;
};

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
  options.exports.emplace_back(text);
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
  return set_enum<&launch_options::bind_to, binding>(
      source, text, options, {{"none", binding::none}, {"core", binding::core}});
}

base::Status set_bootstrap(std::string_view source, std::string_view text,
                           launch_options& options) {
  return set_enum<&launch_options::boot, bootstrap_kind>(
      source, text, options, {{"tcp", bootstrap_kind::tcp}, {"file", bootstrap_kind::file}});
}

// getopt sees --np also as -np, as it does every long name with one dash (the custom of mpirun).
constexpr option_spec option_specs[] = {
    {"np", 'n', "N", "start N ranks (if not given: 1, or as many as the hosts have\nslots)",
     set_number<&launch_options::ranks, 1, max_ranks>},
    {"x", 'x', "NAME[=VALUE]",
     "set a variable for the ranks, or hand on lcrun's, which must be\n"
     "set; may be repeated (in LCRUN_X: several, separated by ';')",
     add_export},
    {"wdir", 0, "DIR", "the ranks' working directory; a relative program is\nlooked up there",
     set_text<&launch_options::wdir>},
    {"label", 'l', nullptr,
     "put \"[rank] \" (on several hosts \"[rank host] \") before each\n"
     "line; lines of two ranks never mix",
     set_switch<&launch_options::label>},
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
    {"bind-to", 0, "none|core",
     "core: share the cores out among the ranks, in order; each is\n"
     "bound to all of its own (none if not given)",
     set_binding},
    {"boot", 0, "tcp|file",
     "how ranks find each other: a server in lcrun, or a directory\n(tcp if not given)",
     set_bootstrap},
    {"hostfile", 'f', "FILE",
     "the hosts: lines \"host\", \"host slots=N\" or \"host:N\", N ranks\n"
     "each (1 if not given)",
     set_hosts<&launch_options::host_file, &launch_options::host_list>},
    {"machinefile", 0, "FILE", "the same",
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
     "with --node-rank: where host 0 serves; LCI_BOOT_TOKEN is then the\n"
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

std::string variable_of(const option_spec& spec) {
  return base::StrCat(variable_prefix,
                      base::AsciiStrToUpper(absl::StrReplaceAll(spec.name, {{"-", "_"}})));
}

std::string dashed_name(const option_spec& spec) {
  if (spec.letter != 0) return base::StrCat("-", std::string_view(&spec.letter, 1));
  return base::StrCat("--", spec.name);
}

std::optional<std::string_view> value_in(char* const* environment, std::string_view name) {
  for (; *environment != nullptr; ++environment) {
    std::string_view entry = *environment;
    if (base::ConsumePrefix(&entry, name) && base::ConsumePrefix(&entry, "=")) return entry;
  }
  return std::nullopt;
}

base::Status apply_variables(char* const* environment, launch_options& options) {
  for (const option_spec& spec : option_specs) {
    const std::string name = variable_of(spec);
    const std::optional<std::string_view> value = value_in(environment, name);
    if (!value || value->empty()) continue;
    if (spec.apply != add_export) {
      if (base::Status s = spec.apply(name, *value, options); !s.ok()) return s;
      continue;
    }
    for (std::string_view entry : base::StrSplit(*value, ';', base::SkipEmpty())) {
      if (base::Status s = spec.apply(name, entry, options); !s.ok()) return s;
    }
  }
  return base::OkStatus();
}

base::Status usage_error(std::string_view what) {
  return base::InvalidArgumentError(base::StrCat(what, "; lcrun --help lists the options"));
}

// What getopt did not like, in our words. `word` is the argument that it stopped in.
base::Status getopt_error(int result, std::string_view word) {
  if (result == ':') return usage_error(base::StrCat(word, " wants a value"));
  if (optopt != 0 && base::StrContains(word, '=')) {
    return usage_error(base::StrCat(word, ": this option takes no value"));
  }
  if (optopt != 0 && word.size() > 2 && word[1] != '-') {
    return usage_error(absl::StrFormat("unknown option -%c in %s", optopt, word));
  }
  return usage_error(base::StrCat("unknown option ", word));
}

base::Status apply_arguments(int argc, char* const* argv, launch_options& options) {
  // '+': stop at the first word that is no option; the rest belongs to the program.
  // ':': report a missing value apart from an unknown option.
  std::string letters = "+:";
  std::vector<option> longs;
  // getopt's `val` is the index into option_specs for long names (from 256 on), else the letter.
  constexpr int first_long = 256;
  for (const option_spec& spec : option_specs) {
    const int has_value = spec.value != nullptr ? required_argument : no_argument;
    const int index = static_cast<int>(&spec - option_specs);
    longs.push_back({spec.name, has_value, nullptr, first_long + index});
    if (spec.letter == 0) continue;
    letters += spec.letter;
    if (has_value == required_argument) letters += ':';
  }
  longs.push_back({nullptr, 0, nullptr, 0});

  optind = 0;  // glibc: start afresh
  opterr = 0;
  for (;;) {
    const int before = optind == 0 ? 1 : optind;
    const int result = getopt_long_only(argc, argv, letters.c_str(), longs.data(), nullptr);
    if (result == -1) break;
    if (result == '?' || result == ':') {
      return getopt_error(result, argv[before < argc ? before : argc - 1]);
    }
    for (const option_spec& spec : option_specs) {
      if (result != spec.letter && result != first_long + (&spec - option_specs)) continue;
      const std::string source =
          result == spec.letter ? dashed_name(spec) : base::StrCat("--", spec.name);
      const char* value = spec.value != nullptr ? optarg : "1";
      if (base::Status s = spec.apply(source, value, options); !s.ok()) return s;
      break;
    }
  }
  options.command.assign(argv + optind, argv + argc);
  return base::OkStatus();
}

}  // namespace

base::StatusOr<launch_options> parse_options(int argc, char* const* argv,
                                             char* const* environment) {
  launch_options options;
  if (base::Status s = apply_variables(environment, options); !s.ok()) return s;
  if (base::Status s = apply_arguments(argc, argv, options); !s.ok()) return s;
  if (options.help || options.version) return options;
  if (options.command.empty() || options.command[0].empty()) {
    return usage_error("no program to start: usage is lcrun [options] program [args]");
  }
  if (!options.endpoint.empty() && options.node_rank < 0) {
    return usage_error("--rdzv-endpoint needs --node-rank: which of the hosts this one is");
  }
  return options;
}

std::vector<std::string> unknown_variables(char* const* environment) {
  std::vector<std::string> unknown;
  for (; *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    if (!base::StartsWith(entry, variable_prefix)) continue;
    const std::string_view name = entry.substr(0, entry.find('='));
    bool known = false;
    for (const option_spec& spec : option_specs) known = known || variable_of(spec) == name;
    if (!known) unknown.emplace_back(name);
  }
  return unknown;
}

std::string help_text() {
  std::string text =
      "usage: lcrun [options] program [args]\n"
      "Starts a program as N ranks of one job, here or on several hosts, and ends all of them when "
      "one\n"
      "fails.\n\n";
  constexpr size_t column = 30;
  for (const option_spec& spec : option_specs) {
    std::string left = spec.letter != 0 ? absl::StrFormat("  -%c", spec.letter) : "    ";
    if (std::string_view(spec.name).size() > 1) {
      base::StrAppend(&left, spec.letter != 0 ? ", --" : "  --", spec.name);
    }
    if (spec.value != nullptr) base::StrAppend(&left, " ", spec.value);
    if (left.size() >= column) {
      base::StrAppend(&text, left, "\n");
      left.clear();
    }
    for (std::string_view line : base::StrSplit(spec.help, '\n')) {
      absl::StrAppendFormat(&text, "%-*s%s\n", static_cast<int>(column), left, line);
      left.clear();
    }
  }
  base::StrAppend(
      &text,
      "\nEvery option is also a variable: LCRUN_NP=4, LCRUN_OUTPUT_DIR=logs, LCRUN_LABEL=1. The\n"
      "command line wins.\n"
      "\nThe ranks see LCI_RANK, LCI_SIZE, LCI_LOCAL_RANK, LCI_LOCAL_SIZE and LCI_JOB_ID; and\n"
      "LCT_PMI_FILE_NRANKS, the number of ranks, for programs that look for it.\n"
      "Signals sent to lcrun are passed on to them; a second SIGINT (Ctrl-C) kills the job.\n"
      "\nExit code: 0 when every rank ends with 0; else that of the rank that failed first, or 128 "
      "+\n"
      "the signal that ended it; 124 timeout, 127 program not found, 126 not executable, 2 wrong\n"
      "usage, 1 anything else.\n");
  return text;
}

}  // namespace lci::launcher
