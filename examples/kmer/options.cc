#include "examples/kmer/options.h"

#include <limits>
#include <string_view>

#include "examples/kmer/kmer.h"

namespace kmer {
namespace {

constexpr uint64_t max_threads = 1024;
constexpr uint64_t max_buffer_bytes = uint64_t{1} << 30;
// One 8-byte number each, summed over all ranks.
constexpr uint64_t max_histogram_high = 10000000;
constexpr uint64_t any = std::numeric_limits<int64_t>::max();

constexpr cli::word<when> moments[] = {{"auto", when::automatic, "if standard error is a terminal"},
                                       {"always", when::always, "in every job"},
                                       {"never", when::never, "in no job"}};

constexpr char about[] =
    "Counts the k-mers of DNA sequences; a k-mer and its reverse complement are the same.\n\n"
    "FILE is FASTA or FASTQ (records of four lines), plain or gzip. Letters are A, C, G, T, and N, "
    "which no k-mer contains. All ranks must be able to read the files.";
constexpr char notes[] =
    "K, M or G may follow BYTES. Counts are exact. The exit code is 0, or 1 if something about the "
    "input or output is wrong, or 2 if the command line is; it is the same for all ranks.";

cli::command command_of(options* chosen) {
  cli::command made = {
      "lcrun -n RANKS kmer count [options] FILE...",
      about,
      {
          {"-k, --k", "N", "length of a k-mer, 1 to 64",
           cli::number(1, max_k<uint128_t>, &chosen->k)},
          {"-t, --threads", "N", "threads of each rank",
           cli::number(1, max_threads, &chosen->threads)},
          {"--histogram", "FILE",
           "how many k-mers occur how often: lines \"count k-mers\"; - is standard output",
           cli::text(&chosen->histogram)},
          {"--histogram-high", "N", "in its last line, all counts above N are put together",
           cli::number(1, max_histogram_high, &chosen->histogram_high)},
          {"--table", "FILE", "lines \"k-mer count\", in no particular order; - is standard output",
           cli::text(&chosen->table)},
          {"--min-count", "N", "leave k-mers out of the table that occur less often",
           cli::number(1, any, &chosen->min_count)},
          {"--buffer-size", "BYTES", "k-mers for another rank are sent when there are so many",
           cli::bytes(least_buffer_bytes, max_buffer_bytes, &chosen->buffer_bytes)},
          {"--progress", "WHEN", "show a progress bar", cli::choice(moments, &chosen->progress)},
          {"--stats", "", "print the counters of LCI at the end, ranks compared (LCI_STATS=1)",
           cli::flag(&chosen->stats)},
      },
      notes};
  made.takes = cli::operands::anywhere;
  return made;
}

}  // namespace

options parse_options(int argc, char** argv, bool* help) {
  *help = false;
  if (argc < 2) throw usage_error("the command is missing: kmer count FILE...");
  const std::string_view word = argv[1];
  if (word == "--help" || word == "-h" || word == "help") {
    *help = true;
    return {};
  }
  if (word != "count") {
    throw usage_error("unknown command '" + std::string(word) + "': only 'count' is known");
  }
  options chosen;
  cli::arguments parsed = cli::parse(command_of(&chosen), argc - 1, argv + 1);
  *help = parsed.wanted == cli::request::help;
  if (*help) return {};
  chosen.files = std::move(parsed.operands);
  if (chosen.files.empty()) throw usage_error("no input file given");
  if (!chosen.table.empty() && chosen.table == chosen.histogram) {
    throw usage_error("--table and --histogram name the same file");
  }
  return chosen;
}

std::string help_text() {
  options defaults;
  return cli::help(command_of(&defaults));
}

}  // namespace kmer
