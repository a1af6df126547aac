#include "tools/launcher/options.h"

#include <getopt.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "absl/strings/str_format.h"
#include "lci/base/status.h"
#include "lci/base/strings.h"
#include "tools/launcher/option_table.h"
#include "tools/launcher/spellings.h"

namespace lci::launcher {
namespace {

constexpr std::string_view variable_prefix = "LCRUN_";

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
  for (const option_spec& spec : option_specs()) {
    const std::string name = variable_of(spec);
    const std::optional<std::string_view> value = value_in(environment, name);
    if (!value || value->empty()) continue;
    if (!spec.repeats) {
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

// getopt's table of long names. `val` is an index into option_specs(), from first_long on, or into
// spellings(), from first_spelling on.
constexpr int first_long = 256;
constexpr int first_spelling = 4096;

std::vector<option> long_options() {
  std::vector<option> longs;
  for (const option_spec& spec : option_specs()) {
    const int has_value = spec.value != nullptr ? required_argument : no_argument;
    longs.push_back({spec.name, has_value, nullptr, first_long + static_cast<int>(longs.size())});
  }
  for (const spelling& other : spellings()) {
    const int has_value = other.values > 0 ? required_argument : no_argument;
    const auto index = static_cast<int>(&other - spellings().data());
    longs.push_back({other.name, has_value, nullptr, first_spelling + index});
  }
  longs.push_back({nullptr, 0, nullptr, 0});
  return longs;
}

// '+': stop at the first word that is no option; the rest belongs to the program.
// ':': report a missing value apart from an unknown option.
std::string short_options() {
  std::string letters = "+:";
  for (const option_spec& spec : option_specs()) {
    if (spec.letter == 0) continue;
    letters += spec.letter;
    if (spec.value != nullptr) letters += ':';
  }
  for (const spelling& other : spellings()) {
    if (other.letter == 0) continue;
    letters += other.letter;
    if (other.values > 0) letters += ':';
  }
  return letters;
}

base::Status not_for_one_program(std::string_view source) {
  return usage_error(base::StrCat(
      source, " applies to the whole job: give it before the first program, not after ':'"));
}

// Applies a name of another launcher. Its second value, if it has two, is the next word of `argv`.
base::Status apply_spelling(const spelling& other, const std::string& source, int argc,
                            char* const* argv, bool first_program, launch_options& options) {
  const std::vector<option_spec>& specs = option_specs();
  const auto same = std::find_if(specs.begin(), specs.end(), [&](const option_spec& spec) {
    return std::string_view(spec.name) == other.option;
  });
  if (!first_program && (other.whole_job || !same->per_program)) return not_for_one_program(source);
  if (other.apply == nullptr) return same->apply(source, other.values > 0 ? optarg : "1", options);
  std::vector<std::string_view> words;
  if (other.values > 0) words.emplace_back(optarg);
  if (other.values > 1 && !base::StrContains(words[0], '=')) {
    if (optind >= argc) return usage_error(base::StrCat(source, " wants two values: NAME VALUE"));
    words.emplace_back(argv[optind++]);
  }
  return other.apply(source, words, options);
}

base::Status apply_option(int result, int argc, char* const* argv, bool first_program,
                          launch_options& options) {
  const std::vector<option_spec>& specs = option_specs();
  for (size_t i = 0; i < specs.size(); ++i) {
    const option_spec& spec = specs[i];
    const bool by_letter = result == spec.letter;
    if (!by_letter && result != first_long + static_cast<int>(i)) continue;
    const std::string source = by_letter ? dashed_name(spec) : base::StrCat("--", spec.name);
    if (!first_program && !spec.per_program) {
      return not_for_one_program(source);
    }
    return spec.apply(source, spec.value != nullptr ? optarg : "1", options);
  }
  for (const spelling& other : spellings()) {
    const auto index = static_cast<int>(&other - spellings().data());
    const bool by_letter = other.letter != 0 && result == other.letter;
    if (!by_letter && result != first_spelling + index) continue;
    const std::string source = by_letter ? base::StrCat("-", std::string_view(&other.letter, 1))
                                         : base::StrCat("--", other.name);
    return apply_spelling(other, source, argc, argv, first_program, options);
  }
  return base::OkStatus();
}

// Applies the options in front of a program. `argv[0]` is the word before them. `*program` becomes
// the index of the first word that is not an option.
base::Status apply_arguments(int argc, char* const* argv, bool first_program, int* program,
                             launch_options& options) {
  const std::string letters = short_options();
  const std::vector<option> longs = long_options();
  optind = 0;  // glibc: start afresh
  opterr = 0;
  for (;;) {
    const int before = optind == 0 ? 1 : optind;
    if (before < argc) {
      if (base::Status s = check_foreign(argv[before]); !s.ok()) return s;
    }
    const int result = getopt_long_only(argc, argv, letters.c_str(), longs.data(), nullptr);
    if (result == -1) break;
    if (result == '?' || result == ':') {
      return getopt_error(result, argv[before < argc ? before : argc - 1]);
    }
    if (base::Status s = apply_option(result, argc, argv, first_program, options); !s.ok())
      return s;
  }
  *program = optind;
  return base::OkStatus();
}

// Reads the programs of the job, each with its options, separated by ":". After "--", all words
// belong to the program, ":" included.
base::Status apply_programs(int argc, char* const* argv, launch_options& options) {
  const program_options defaults = options.programs.back();
  int before = 0;  // the word in front of the options: that of lcrun, or a ":"
  for (bool first = true;; first = false) {
    int begin = 0;
    const base::Status s = apply_arguments(argc - before, argv + before, first, &begin, options);
    if (!s.ok()) return s;
    begin += before;
    int end = argc;
    if (std::string_view(argv[begin - 1]) != "--") {
      end = begin;
      while (end < argc && std::string_view(argv[end]) != ":") ++end;
    }
    options.programs.back().command.assign(argv + begin, argv + end);
    if (end == argc) return base::OkStatus();
    options.programs.push_back(defaults);
    before = end;
  }
}

base::Status check_programs(const launch_options& options) {
  const bool several = options.programs.size() > 1;
  for (const program_options& program : options.programs) {
    if (program.command.empty() || program.command[0].empty()) {
      if (several) return usage_error("there is no program on one side of a ':'");
      return usage_error("no program to start: usage is lcrun [options] program [args]");
    }
    // Host 0 says how many ranks the hosts that are started by hand have.
    if (several && program.ranks == 0 && options.node_rank <= 0) {
      return usage_error(base::StrCat(
          "a job of several programs needs -n before each: how many ranks shall run \"",
          program.command[0], "\""));
    }
  }
  return base::OkStatus();
}

}  // namespace

base::StatusOr<launch_options> parse_options(int argc, char* const* argv,
                                             char* const* environment) {
  launch_options options;
  if (base::Status s = apply_variables(environment, options); !s.ok()) return s;
  if (base::Status s = apply_programs(argc, argv, options); !s.ok()) return s;
  if (options.help || options.version) return options;
  for (program_options& program : options.programs) {
    program.exports.insert(program.exports.begin(), options.exports.begin(), options.exports.end());
  }
  if (base::Status s = check_programs(options); !s.ok()) return s;
  if (!options.endpoint.empty() && options.node_rank < 0) {
    return usage_error("--rdzv-endpoint needs --node-rank: which of the hosts this one is");
  }
  return options;
}

binding binding_of(const launch_options& options) {
  if (options.bind_to) return *options.bind_to;
  switch (options.map_by) {
    case mapping::core:
      return binding::core;
    case mapping::numa:
      return binding::numa;
    case mapping::socket:
      return binding::socket;
    default:
      return binding::none;
  }
}

std::vector<std::string> unknown_variables(char* const* environment) {
  std::vector<std::string> unknown;
  for (; *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    if (!base::StartsWith(entry, variable_prefix)) continue;
    const std::string_view name = entry.substr(0, entry.find('='));
    bool known = false;
    for (const option_spec& spec : option_specs()) known = known || variable_of(spec) == name;
    if (!known) unknown.emplace_back(name);
  }
  return unknown;
}

std::string help_text() {
  std::string text =
      "usage: lcrun [options] program [args] [: [-n N] [options] program [args]]...\n"
      "Starts a program as N ranks of one job, here or on several hosts, and ends all of them when "
      "one\n"
      "fails.\n\n";
  constexpr size_t column = 30;
  for (const option_spec& spec : option_specs()) {
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
      "\nThe usual spellings of mpirun, mpiexec and srun are accepted, too; lcrun(1) lists them.\n"
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
