#include "examples/kmer/options.h"

#include <getopt.h>

#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "examples/kmer/kmer.h"

namespace kmer {
namespace {

constexpr uint64_t max_threads = 1024;
constexpr uint64_t max_buffer_bytes = uint64_t{1} << 30;
// One 8-byte number each, summed over all ranks.
constexpr uint64_t max_histogram_high = 10000000;

enum code {
  code_help = 'h',
  code_k = 'k',
  code_threads = 't',
  code_buffer = 1000,
  code_bloom,
  code_cache,
  code_histogram,
  code_high,
  code_table,
  code_min_count,
  code_progress,
};

const option long_options[] = {
    {"help", no_argument, nullptr, code_help},
    {"k", required_argument, nullptr, code_k},
    {"threads", required_argument, nullptr, code_threads},
    {"buffer-size", required_argument, nullptr, code_buffer},
    {"bloom-memory", required_argument, nullptr, code_bloom},
    {"read-cache", required_argument, nullptr, code_cache},
    {"histogram", required_argument, nullptr, code_histogram},
    {"histogram-high", required_argument, nullptr, code_high},
    {"table", required_argument, nullptr, code_table},
    {"min-count", required_argument, nullptr, code_min_count},
    {"progress", required_argument, nullptr, code_progress},
    {nullptr, 0, nullptr, 0},
};

// A whole number between the bounds; with `bytes`, K, M and G (1024, ...) may follow.
uint64_t number(absl::string_view option, absl::string_view text, uint64_t low, uint64_t high,
                bool bytes = false) {
  absl::string_view digits = text;
  uint64_t unit = 1;
  if (bytes && !digits.empty()) {
    switch (digits.back()) {
      case 'k':
      case 'K':
        unit = uint64_t{1} << 10;
        break;
      case 'm':
      case 'M':
        unit = uint64_t{1} << 20;
        break;
      case 'g':
      case 'G':
        unit = uint64_t{1} << 30;
        break;
      default:
        break;
    }
    if (unit != 1) digits.remove_suffix(1);
  }
  uint64_t value = 0;
  // SimpleAtoi would take spaces and a sign.
  const bool plain = !digits.empty() && digits.find_first_not_of("0123456789") == digits.npos;
  if (!plain || !absl::SimpleAtoi(digits, &value) ||
      value > std::numeric_limits<uint64_t>::max() / unit || value * unit < low ||
      value * unit > high) {
    throw usage_error(absl::StrCat("--", option, " ", text, ": must be a number from ", low, " to ",
                                   high, bytes ? ", which K, M or G may follow" : ""));
  }
  return value * unit;
}

when progress_choice(absl::string_view text) {
  if (text == "auto") return when::automatic;
  if (text == "always") return when::always;
  if (text == "never") return when::never;
  throw usage_error(absl::StrCat("--progress ", text, ": must be auto, always or never"));
}

}  // namespace

options parse_options(int argc, char** argv, bool* help) {
  *help = false;
  if (argc < 2) throw usage_error("what to do is missing: kmer count FILE...");
  const absl::string_view command = argv[1];
  if (command == "--help" || command == "-h" || command == "help") {
    *help = true;
    return {};
  }
  if (command != "count") {
    throw usage_error(absl::StrCat("unknown command '", command, "': only 'count' is known"));
  }
  constexpr uint64_t any = std::numeric_limits<int64_t>::max();
  options chosen;
  // getopt's own messages would come from every rank, and ours say more. "+:": options come first,
  // and a missing value is reported as such.
  ++argv;
  --argc;
  opterr = 0;
  optind = 0;
  for (int code; (code = getopt_long(argc, argv, ":hk:t:", long_options, nullptr)) != -1;) {
    switch (code) {
      case code_help:
        *help = true;
        return {};
      case code_k:
        chosen.k = static_cast<int>(number("k", optarg, 1, max_k<uint128_t>));
        break;
      case code_threads:
        chosen.threads = static_cast<int>(number("threads", optarg, 1, max_threads));
        break;
      case code_buffer:
        chosen.buffer_bytes =
            number("buffer-size", optarg, sizeof(uint128_t), max_buffer_bytes, true);
        break;
      case code_bloom:
        chosen.bloom_bytes = number("bloom-memory", optarg, 1, any, true);
        break;
      case code_cache:
        chosen.cache_bytes = number("read-cache", optarg, 0, any, true);
        break;
      case code_histogram:
        chosen.histogram = optarg;
        break;
      case code_high:
        chosen.histogram_high = number("histogram-high", optarg, 1, max_histogram_high);
        break;
      case code_table:
        chosen.table = optarg;
        break;
      case code_min_count:
        // What occurs once never gets into the table.
        chosen.min_count = number("min-count", optarg, 2, any);
        break;
      case code_progress:
        chosen.progress = progress_choice(optarg);
        break;
      case ':':
        throw usage_error(absl::StrCat(argv[optind - 1], ": its value is missing"));
      default:
        throw usage_error(absl::StrCat("unknown option ", argv[optind - 1]));
    }
  }
  chosen.files.assign(argv + optind, argv + argc);
  if (chosen.files.empty()) throw usage_error("no input file given");
  if (!chosen.table.empty() && chosen.table == chosen.histogram) {
    throw usage_error("--table and --histogram name the same file");
  }
  return chosen;
}

std::string help_text() {
  return R"(Counts the k-mers of DNA sequences, and of their reverse complements as the same.

usage: lcrun -n RANKS kmer count [options] FILE...

FILE is FASTA or FASTQ (records of four lines), plain or gzip. Letters are A, C, G, T, and N, which
no k-mer contains. All ranks must be able to read the files.

  -k, --k N                length of a k-mer, 1 to 64 (51)
  -t, --threads N          threads of each rank (1)
      --histogram FILE     how many k-mers occur how often: lines "count k-mers"; - is standard output
      --histogram-high N   in its last line, all counts above N are put together (10000)
      --table FILE         lines "k-mer count", in no particular order; - is standard output
      --min-count N        leave out of the table what occurs less often, at least 2 (2)
      --buffer-size BYTES  k-mers for another rank are sent when there are so many (8K)
      --bloom-memory BYTES of all ranks together; less lets more k-mers that occur once into the
                           table, which costs memory but never changes a count (by the input's size)
      --read-cache BYTES   of each rank, to keep reads for the second pass over the input; what does
                           not fit is read again (a quarter of the machine's memory divided by the
                           number of ranks)
      --progress WHEN      show a progress bar: auto (if standard error is a terminal), always, never
  -h, --help               this text

BYTES may be followed by K, M or G. Counts are exact. The exit code is 0, or 1 if something about
the input or output is wrong, or 2 if the command line is; it is the same for all ranks.
)";
}

}  // namespace kmer
