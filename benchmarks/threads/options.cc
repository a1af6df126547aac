#include "benchmarks/threads/options.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace perf {
namespace {

constexpr uint64_t max_count = uint64_t{1} << 40;
constexpr uint64_t max_runs = 100000;
// A ping is found to have landed by its last 8 bytes.
constexpr size_t least_ping = 8;

constexpr cli::word<output_format> formats[] = {
    {"text", output_format::text, "a table"}, {"json", output_format::json, "an object per line"}};
constexpr cli::word<operation> operations[] = {{"put", operation::put}, {"get", operation::get}};
constexpr cli::word<bool> devices[] = {{"shared", false, "one for all threads"},
                                       {"dedicated", true, "one for each"}};

using option_list = std::vector<cli::option>;

// The options of one program, listed before the common ones.
option_list with_common(option_list own, threads_options* chosen) {
  option_list common = {
      backend_option(&chosen->backend),
      binding_option(&chosen->bind),
      {"--format", "F", "how results are printed", cli::choice(formats, &chosen->format)},
  };
  own.insert(own.end(), common.begin(), common.end());
  return own;
}

cli::option threads_option(const char* help, const char* default_text, threads_options* chosen) {
  return {"--threads", "N|A:B", help,
          cli::number_range(1, max_threads, &chosen->threads).with_default(default_text)};
}

// A size_range from least_ping.
cli::value ping_sizes(std::vector<size_t>* to) {
  cli::value made = cli::size_range(to).with_default("8:1M");
  made.set = [to, set = made.set](std::string_view text) {
    if (!set(text)) return false;
    if (to->front() >= least_ping) return true;
    throw usage_error(
        absl::StrCat("--size ", std::string(text), ": a ping has at least ", least_ping, " bytes"));
  };
  return made;
}

cli::value mask_list(std::vector<int>* to) {
  cli::value made;
  made.allowed = "2^n - 1 each: 0, 1, 3, 7, ...";
  made.initial = absl::StrJoin(*to, ",");
  made.set = [to](std::string_view text) {
    to->clear();
    for (const absl::string_view one : absl::StrSplit(std::string(text), ',')) {
      int mask = 0;
      if (!absl::SimpleAtoi(one, &mask) || mask < 0 || (mask & (mask + 1)) != 0) return false;
      to->push_back(mask);
    }
    return true;
  };
  return made;
}

cli::command injection_command(injection_options* chosen) {
  chosen->threads = {1, 2, 3, 4, 5, 6, 7, 8};
  return {
      "lcrun -n RANKS uccs_injection [options]",
      "Measures how fast one thread injects active messages of 4 bytes into a rank in which "
      "several threads make progress on one device, and how their callbacks spread over these "
      "threads. RANKS is even; the first half sends, rank i to rank i + n/2. A run ends when the "
      "rank has counted all messages and its answer has come. After A. Bouteiller, T. Herault, G. "
      "Bosilca, \"A multithreaded communication substrate for OpenSHMEM\" (2014), figure 2.",
      with_common(
          {threads_option("threads of a rank that receive; A:B: all numbers from A to B", "1:8",
                          chosen),
           {"--messages", "N", "messages of a run", cli::number(1, max_count, &chosen->messages)},
           {"--runs", "R", "measured runs", cli::number(1, max_runs, &chosen->runs)},
           {"--warmup", "R", "runs before, which do not count",
            cli::number(0, max_runs, &chosen->warmup)},
           {"--alone", "",
            "each rank sends to itself, as much as there is room for, which its threads then take: "
            "for the spread on a machine that has a core for each thread, but none for a sender "
            "in addition. Rates are those of taking; RANKS may be 1",
            cli::flag(&chosen->alone)}},
          chosen),
      "Callbacks are those of one thread in one run: their mean, least, most and standard "
      "deviation over all threads and runs, and, with several threads, of each."};
}

cli::command waves_command(waves_options* chosen) {
  chosen->threads = {1, 2, 4, 8};
  chosen->sizes = cli::doubling(8, size_t{1} << 20);
  return {
      "lcrun -n RANKS uccs_waves [options]",
      "Measures the bandwidth of puts or gets between two ranks in both directions, called by "
      "several threads in parallel. RANKS is even; rank i communicates with rank i + n/2. Each "
      "rank's threads call a wave of pings, and one more thread waits until all of the partner's "
      "have arrived in memory, where it reads their last 8 bytes (gets: until all of its own "
      "rank's are complete). It answers with a pong of 4 bytes, which the partner's threads wait "
      "for before their next wave. After A. Bouteiller, T. Herault, G. Bosilca, \"A multithreaded "
      "communication substrate for OpenSHMEM\" (2014), figure 1.",
      with_common(
          {{"--op", "OP", "the operation", cli::choice(operations, &chosen->op)},
           {"--size", "N|A:B",
            "bytes of a ping, from 8; A:B: powers of two from A to B; K, M or G may follow a "
            "number",
            ping_sizes(&chosen->sizes)},
           threads_option("threads of a rank that call; A:B: all numbers from A to B",
                          "1, 2, 4 and 8", chosen),
           {"--pings", "P", "pings of each thread in a wave",
            cli::number(1, 65536, &chosen->pings)},
           {"--waves", "N", "waves of each size",
            cli::number(1, max_count, &chosen->waves).with_default("by size")},
           {"--devices", "D", "the devices of a rank", cli::choice(devices, &chosen->dedicated)}},
          chosen),
      "The bandwidth is of all ranks, in both directions."};
}

cli::command poll_mask_command(poll_mask_options* chosen) {
  chosen->threads = {1, 2, 4};
  chosen->masks = {0, 1, 3, 7, 15, 31, 63, 127, 255, 511};
  return {
      "lcrun -n RANKS gasnet_poll_mask [options]",
      "Measures what a thread that polls a device of its own loses by serving the default device, "
      "too, and how long messages to that device take, by the attribute am_poll_mask: one poll in "
      "mask + 1 serves it. RANKS is even; rank i communicates with rank i + n/2. First one thread "
      "and the default device of a rank whose threads poll their own; then all threads with their "
      "partners through their own devices (the longest time counts). After K. Ibrahim, K. Yelick, "
      "\"On the Conditions for Efficient Interoperability with Threads\" (2014), figures 6 and 7.",
      with_common(
          {{"--masks", "M,...", "values of am_poll_mask", mask_list(&chosen->masks)},
           threads_option("threads of a rank; A:B: all numbers from A to B", "1, 2 and 4", chosen),
           {"--iters", "N", "round trips", cli::number(1, max_count, &chosen->iters)}},
          chosen)};
}

template <class Options>
Options parsed(cli::command (*command_of)(Options*), int argc, const char* const* argv,
               cli::request* wanted) {
  Options chosen;
  *wanted = cli::parse(command_of(&chosen), argc, argv).wanted;
  return chosen;
}

template <class Options>
std::string help_of(cli::command (*command_of)(Options*)) {
  Options defaults;
  return cli::help(command_of(&defaults));
}

}  // namespace

injection_options parse_injection(int argc, const char* const* argv, cli::request* wanted) {
  return parsed(injection_command, argc, argv, wanted);
}
waves_options parse_waves(int argc, const char* const* argv, cli::request* wanted) {
  return parsed(waves_command, argc, argv, wanted);
}
poll_mask_options parse_poll_mask(int argc, const char* const* argv, cli::request* wanted) {
  return parsed(poll_mask_command, argc, argv, wanted);
}

std::string injection_help() { return help_of(injection_command); }
std::string waves_help() { return help_of(waves_command); }
std::string poll_mask_help() { return help_of(poll_mask_command); }

uint64_t waves_for(const waves_options& chosen, size_t size, int threads) {
  if (chosen.waves > 0) return chosen.waves;
  // Some 256 MB, and less where a wave takes long for another reason than its bytes.
  const uint64_t bytes =
      size * static_cast<uint64_t>(chosen.pings) * static_cast<uint64_t>(threads);
  return std::clamp<uint64_t>((uint64_t{1} << 28) / bytes, 10, 2000);
}

std::string describe(const injection_options& chosen) {
  return absl::StrCat("threads ", absl::StrJoin(chosen.threads, ","), " bind ",
                      name_of(chosen.bind), " runs ", chosen.runs, " warmup ", chosen.warmup,
                      " messages ", chosen.messages, " alone ", chosen.alone ? 1 : 0);
}

std::string describe(const waves_options& chosen) {
  return absl::StrCat("threads ", absl::StrJoin(chosen.threads, ","), " bind ",
                      name_of(chosen.bind), " op ", name_of(chosen.op), " sizes ",
                      absl::StrJoin(chosen.sizes, ","), " dedicated ", chosen.dedicated ? 1 : 0,
                      " pings ", chosen.pings, " waves ", chosen.waves);
}

std::string describe(const poll_mask_options& chosen) {
  return absl::StrCat("threads ", absl::StrJoin(chosen.threads, ","), " bind ",
                      name_of(chosen.bind), " masks ", absl::StrJoin(chosen.masks, ","), " iters ",
                      chosen.iters);
}

}  // namespace perf
