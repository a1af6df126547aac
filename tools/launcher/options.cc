#include "tools/launcher/options.h"

#include <string_view>
#include <utility>

#include "lci/api/config.hpp"
#include "lci/base/strings.h"
#include "tools/launcher/option_table.h"
#include "tools/launcher/spellings.h"

namespace lci::launcher {
namespace {

constexpr const char* see_help = "; --help lists the options";

// The options in front of a program. In front of a later program, those of the whole job are
// refused.
cli::command command_of(launch_options* job, program_options* program, bool is_first) {
  cli::command command = {
      "lcrun [options] program [args] [: -n N [options] program [args]]...",
      "Starts a program as N ranks of one job, here or on several hosts, and ends all of them when "
      "one fails.",
      program_option_table(program),
      "The usual spellings of mpirun, mpiexec and srun are accepted, too; lcrun(1) lists them.\n\n"
      "Every option is also a variable: LCRUN_NP=4, LCRUN_OUTPUT_DIR=logs, LCRUN_LABEL=1. The "
      "command line takes precedence.\n\n"
      "The ranks see LCI_RANK, LCI_SIZE, LCI_LOCAL_RANK, LCI_LOCAL_SIZE and LCI_JOB_ID; and "
      "LCT_PMI_FILE_NRANKS, the number of ranks, for programs that look for it. lcrun passes "
      "signals on to them; a second SIGINT (Ctrl-C) kills the job.\n\n"
      "Exit code: 0 when every rank ends with 0; else that of the rank that failed first, or 128 + "
      "the signal that ended it; 124 timeout, 127 program not found, 126 not executable, 2 wrong "
      "usage, 1 anything else."};
  command.version = "lcrun (LCI) " LCI_VERSION_STRING;
  command.takes = cli::operands::end_options;
  command.single_dash = true;
  const auto append = [&command](std::vector<cli::option> more, const std::string& refusal) {
    for (cli::option& one : more) {
      if (!refusal.empty()) one.refusal = refusal;
      command.options.push_back(std::move(one));
    }
  };
  const std::string refusal =
      is_first ? "" : "applies to the whole job: give it before the first program, not after ':'";
  append(job_option_table(job), refusal);
  append(program_spellings(program), "");
  append(job_spellings(job), refusal);
  append(foreign_options(), "");
  return command;
}

// LCRUN_ and the last name of the option in capitals. Empty for a section.
std::string variable_of(const cli::option& option) {
  if (option.names.empty()) return "";
  const std::string_view name = cli::names_of(option).back();
  std::string variable = "LCRUN_";
  for (const char c : name.substr(name.find_first_not_of('-'))) {
    variable += c == '-' ? '_' : base::ascii_toupper(c);
  }
  return variable;
}

// The options that have variables: all but the spellings of other launchers.
std::vector<cli::option> options_with_variables(launch_options* job) {
  std::vector<cli::option> all = program_option_table(&job->programs[0]);
  for (cli::option& one : job_option_table(job)) all.push_back(std::move(one));
  return all;
}

std::string_view value_in(const char* const* environment, std::string_view name) {
  for (; *environment != nullptr; ++environment) {
    std::string_view entry = *environment;
    if (base::ConsumePrefix(&entry, name) && base::ConsumePrefix(&entry, "=")) return entry;
  }
  return "";
}

void apply_variables(const char* const* environment, launch_options* job) {
  for (cli::option& option : options_with_variables(job)) {
    const std::string variable = variable_of(option);
    if (option.names == "-x") option.accepts = exports(&job->programs[0].exports, ';');
    const std::string_view text = value_in(environment, variable);
    if (!text.empty()) cli::set_option(option, variable, text);
  }
}

// Reads the words after the options of lcrun --report: the id of a job, and more options.
void apply_report(int argc, const char* const* argv, const cli::arguments& arguments,
                  launch_options* job) {
  if (arguments.operands.empty()) return;
  job->report_job = arguments.operands[0];
  const int begin = argc - static_cast<int>(arguments.operands.size());
  cli::command command = command_of(job, &job->programs[0], true);
  command.takes = cli::operands::refused;
  job->wanted = cli::parse(command, argc - begin, argv + begin).wanted;
}

// Reads the programs of the job, each with its options, separated by ":". After "--", all words
// belong to the program, ":" included.
void apply_programs(int argc, const char* const* argv, launch_options* job) {
  const program_options defaults = job->programs[0];
  int before = 0;  // the word in front of the options: argv[0] or a ":"
  while (true) {
    program_options& program = job->programs.back();
    cli::arguments arguments =
        cli::parse(command_of(job, &program, before == 0), argc - before, argv + before);
    job->wanted = arguments.wanted;
    if (job->report) return apply_report(argc, argv, arguments, job);
    const int begin = argc - static_cast<int>(arguments.operands.size());
    int end = argc;
    if (std::string_view(argv[begin - 1]) != "--") {
      end = begin;
      while (end < argc && std::string_view(argv[end]) != ":") ++end;
    }
    program.command.assign(argv + begin, argv + end);
    if (end == argc || arguments.wanted != cli::request::run) return;
    job->programs.push_back(defaults);
    before = end;
  }
}

void check_programs(const launch_options& job) {
  const bool several = job.programs.size() > 1;
  for (const program_options& program : job.programs) {
    if (program.command.empty() || program.command[0].empty()) {
      throw cli::usage_error(
          base::StrCat(several ? "there is no program on one side of a ':'"
                               : "no program to start: usage is lcrun [options] program [args]",
                       see_help));
    }
    // Host 0 tells the hosts that are started by hand how many ranks they have.
    if (several && program.ranks == 0 && job.node_rank <= 0) {
      throw cli::usage_error(base::StrCat(
          "a job of several programs needs -n before each: how many ranks shall run \"",
          program.command[0], "\"", see_help));
    }
  }
  if (job.nodes > 0 && job.node_rank >= job.nodes) {
    throw cli::usage_error(base::StrCat("--node-rank ", job.node_rank, ": --nnodes is ", job.nodes,
                                        ", and hosts count from 0"));
  }
  if (!job.endpoint.empty() && job.node_rank < 0) {
    throw cli::usage_error(base::StrCat(
        "--rdzv-endpoint needs --node-rank: which of the hosts this one is", see_help));
  }
}

}  // namespace

base::StatusOr<launch_options> parse_options(int argc, const char* const* argv,
                                             const char* const* environment) try {
  launch_options job;
  apply_variables(environment, &job);
  apply_programs(argc, argv, &job);
  if (job.wanted != cli::request::run || job.report) return job;
  // In front, so that -x can still say otherwise.
  if (job.stats) job.exports.insert(job.exports.begin(), "LCI_STATS=1");
  for (program_options& program : job.programs) {
    program.exports.insert(program.exports.begin(), job.exports.begin(), job.exports.end());
  }
  check_programs(job);
  return job;
} catch (const cli::usage_error& error) {
  return base::InvalidArgumentError(error.what());
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

std::vector<std::string> unknown_variables(const char* const* environment) {
  launch_options job;
  const std::vector<cli::option> options = options_with_variables(&job);
  std::vector<std::string> unknown;
  for (; *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    if (!base::StartsWith(entry, "LCRUN_")) continue;
    const std::string_view name = entry.substr(0, entry.find('='));
    bool is_known = false;
    for (const cli::option& one : options) is_known = is_known || variable_of(one) == name;
    if (!is_known) unknown.emplace_back(name);
  }
  return unknown;
}

std::string help_text() {
  launch_options job;
  return cli::help(command_of(&job, &job.programs[0], true));
}

std::string version_text() {
  launch_options job;
  return command_of(&job, &job.programs[0], true).version + "\n";
}

}  // namespace lci::launcher
