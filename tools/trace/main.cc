// lci_trace: what the flight recorders of a job's ranks have kept.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "lci/api/config.hpp"
#include "lci/base/env.h"
#include "lci/base/rank_list.h"
#include "lci/base/strings.h"
#include "tools/cli/cli.h"
#include "tools/trace/chrome.h"
#include "tools/trace/files.h"
#include "tools/trace/text.h"

namespace {

namespace cli = lci::cli;
using lci::base::StrCat;

struct options {
  std::string output = "-";
  std::string job;
  size_t last = 20;
};

cli::command command_of(options* chosen) {
  cli::command made = {
      "lci_trace merge|show [options] [FILE|DIRECTORY]...",
      "Reads what the ranks of a job have recorded with LCI_RECORD=1: files *.lcirec, by default "
      "those in LCI_RECORD_DIR or /dev/shm. The files remain if the job fails, or with "
      "LCI_RECORD=keep. A job that runs can be read, too.\n\n"
      "merge writes the recordings of all ranks as one trace for ui.perfetto.dev or "
      "chrome://tracing, with an arrow from the post of each message to its arrival. show prints "
      "the last events of each thread.",
      {{"-o, --output", "FILE", "merge: where the trace is written; -: the standard output",
        cli::text(&chosen->output)},
       {"--last", "N", "show: events of each thread", cli::number(1, UINT32_MAX, &chosen->last)},
       {"--job", "ID", "the job, by its id or the beginning of it, where there are several",
        cli::text(&chosen->job).with_default("")}}};
  made.takes = cli::operands::anywhere;
  made.version = "lci_trace (LCI) " LCI_VERSION_STRING;
  return made;
}

int fail(const std::string& what) {
  std::fprintf(stderr, "lci_trace: %s\n", what.c_str());
  return 1;
}

int print(const std::string& text) { return cli::print("lci_trace", text); }

int write_file(const std::string& path, const std::string& text) {
  std::FILE* const file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return fail(StrCat("can't write ", path, ": ", std::strerror(errno)));
  const bool is_buffered =
      std::fwrite(text.data(), 1, text.size(), file) == text.size() && std::fflush(file) == 0;
  const int error = errno;
  if (std::fclose(file) == 0 && is_buffered) return 0;
  return fail(
      StrCat("can't write all of ", path, ": ", std::strerror(is_buffered ? errno : error)));
}

// Ranks without a recording among those that were read; empty: none is known.
std::string missing_ranks(const lci::trace::job_recordings& job) {
  if (job.ranks.empty()) return "";
  std::vector<int> missing;
  size_t next = 0;
  for (int rank = 0; rank < job.ranks[0].ranks; ++rank) {
    if (next < job.ranks.size() && job.ranks[next].rank == rank) {
      ++next;
    } else {
      missing.push_back(rank);
    }
  }
  return missing.empty() ? "" : StrCat("no recording of ", lci::base::rank_list(missing));
}

int merge(const lci::trace::job_recordings& job, const std::string& output) {
  const lci::trace::chrome_trace trace = lci::trace::make_chrome_trace(job.ranks);
  if (output == "-") return print(trace.json);
  if (const int failed = write_file(output, trace.json); failed != 0) return failed;
  return print(StrCat(output, ": ", job.ranks.size(), " ranks, ", trace.events, " events, ",
                      trace.arrows, " messages from post to arrival; without their other end: ",
                      trace.only_sent, " posts and ", trace.only_arrived, " arrivals\n"));
}

int run(const options& chosen, std::vector<std::string> operands) {
  if (operands.empty() || (operands[0] != "merge" && operands[0] != "show")) {
    throw cli::usage_error(operands.empty()
                               ? "give what to do: merge or show (see --help)"
                               : StrCat("\"", operands[0], "\" is not merge or show (see --help)"));
  }
  const bool merges = operands[0] == "merge";
  operands.erase(operands.begin());
  if (operands.empty()) operands.push_back(lci::base::env_string("LCI_RECORD_DIR", "/dev/shm"));
  const auto job = lci::trace::read_job(operands, chosen.job);
  if (!job.ok()) return fail(std::string(job.status().message()));
  for (const std::string& each : job->unreadable) static_cast<void>(fail(each));
  if (job->ranks.empty()) return 1;
  if (const std::string missing = missing_ranks(*job); !missing.empty()) {
    std::fprintf(stderr, "lci_trace: %s\n", missing.c_str());
  }
  const int failed =
      merges ? merge(*job, chosen.output) : print(lci::trace::show(job->ranks, chosen.last));
  return failed != 0 || job->unreadable.empty() ? failed : 1;
}

}  // namespace

int main(int argc, char** argv) {
  options chosen;
  const cli::command command = command_of(&chosen);
  try {
    const cli::arguments arguments = cli::parse(command, argc, argv);
    switch (arguments.wanted) {
      case cli::request::help:
        return print(cli::help(command));
      case cli::request::version:
        return print(command.version + "\n");
      case cli::request::run:
        return run(chosen, arguments.operands);
    }
  } catch (const cli::usage_error& error) {
    std::fprintf(stderr, "lci_trace: %s\n", error.what());
  }
  return 2;
}
