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
// A ping is found to have landed by its last 8 bytes.
constexpr size_t least_ping = 8;

constexpr named<output_format> formats[] = {{"text", output_format::text},
                                            {"json", output_format::json}};
constexpr named<operation> operations[] = {{"put", operation::put}, {"get", operation::get}};
constexpr named<bool> devices[] = {{"shared", false}, {"dedicated", true}};

std::vector<argument> common(threads_options* chosen) {
  return {
      {"threads",
       [chosen](auto option, auto text) {
         chosen->threads = read_numbers(option, text, 1, max_threads);
       }},
      backend_argument(&chosen->backend),
      binding_argument(&chosen->bind),
      choice_argument("format", formats, &chosen->format),
  };
}

void add(std::vector<argument> more, std::vector<argument>* to) {
  for (argument& one : more) to->push_back(std::move(one));
}

constexpr const char* common_help =
    R"(  --backend B    auto, shm, ibv, ofi (auto)
  --bind B       core: each thread on a processor core of its own, or, if there are too few, neighbours on one;
                 none (none)
  --format F     text; json: one object a line (text)
  -h, --help     this text
)";

}  // namespace

injection_options parse_injection(int argc, char** argv, bool* help) {
  injection_options chosen;
  chosen.threads = read_numbers("threads", "1:8", 1, max_threads);
  std::vector<argument> all = common(&chosen);
  add({number_argument("runs", 1, 100000, &chosen.runs),
       number_argument("warmup", 0, 100000, &chosen.warmup),
       number_argument("messages", 1, max_count, &chosen.messages),
       {"alone", [&chosen](auto, auto) { chosen.alone = true; }, false}},
      &all);
  *help = !read_arguments(argc, argv, all);
  return chosen;
}

waves_options parse_waves(int argc, char** argv, bool* help) {
  waves_options chosen;
  chosen.threads = {1, 2, 4, 8};
  chosen.sizes = doubling(8, size_t{1} << 20);
  std::vector<argument> all = common(&chosen);
  add({choice_argument("op", operations, &chosen.op),
       {"size",
        [&chosen](auto option, auto text) {
          chosen.sizes = read_sizes(option, text);
          if (chosen.sizes.front() >= least_ping) return;
          throw usage_error(absl::StrCat("--", option, " ", text, ": a ping has at least ",
                                         least_ping, " bytes"));
        }},
       choice_argument("devices", devices, &chosen.dedicated),
       number_argument("pings", 1, 65536, &chosen.pings),
       number_argument("waves", 1, max_count, &chosen.waves)},
      &all);
  *help = !read_arguments(argc, argv, all);
  return chosen;
}

poll_mask_options parse_poll_mask(int argc, char** argv, bool* help) {
  poll_mask_options chosen;
  chosen.threads = {1, 2, 4};
  chosen.masks = {0, 1, 3, 7, 15, 31, 63, 127, 255, 511};
  std::vector<argument> all = common(&chosen);
  add({number_argument("iters", 1, max_count, &chosen.iters),
       {"masks",
        [&chosen](auto option, auto text) {
          chosen.masks.clear();
          for (const absl::string_view one : absl::StrSplit(text, ',')) {
            int mask = 0;
            if (!absl::SimpleAtoi(one, &mask) || mask < 0 || (mask & (mask + 1)) != 0) {
              throw usage_error(
                  absl::StrCat("--", option, " ", text, ": must be 2^n - 1 each: 0, 1, 3, 7, ..."));
            }
            chosen.masks.push_back(mask);
          }
        }}},
      &all);
  *help = !read_arguments(argc, argv, all);
  return chosen;
}

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

std::string injection_help() {
  return absl::StrCat(
      R"(Measures how fast one thread injects active messages of 4 bytes into a rank in which several threads make
progress on one device, and how their callbacks spread over these threads. A run ends when the rank has
counted all messages and its answer has come. After A. Bouteiller, T. Herault, G. Bosilca, "A multithreaded
communication substrate for OpenSHMEM" (2014), figure 2.

usage: lcrun -n RANKS uccs_injection [options]    RANKS is even; the first half sends, rank i to i + n/2

  --threads T    that receive in a rank; A:B: all numbers from A to B (1:8)
  --messages N   of a run (500000)
  --runs R       (100)
  --warmup R     runs before that do not count (10)
  --alone        each rank sends to itself, as much as there is room for, which its threads then take: for the
                 spread on a machine that has a core for each thread, but none for a sender beside them. Rates
                 are those of taking; RANKS may be 1
)",
      common_help,
      R"(
Callbacks are those of one thread in one run: their mean, least, most and standard deviation over all threads
and runs, and, with several threads, of each.
)");
}

std::string waves_help() {
  return absl::StrCat(
      R"(Measures the bandwidth of puts or gets between two ranks in both directions, called by several threads at the
same time. Each rank's threads call a wave of pings, and one more thread waits until all of the partner's have
arrived in memory, at whose last 8 bytes it looks (gets: until all of its own rank's are complete). It answers
with a pong of 4 bytes, which the partner's threads wait for before their next wave. After A. Bouteiller, T. Herault, G. Bosilca, "A multithreaded
communication substrate for OpenSHMEM" (2014), figure 1.

usage: lcrun -n RANKS uccs_waves [options]        RANKS is even; rank i with rank i + n/2

  --op OP        put, get (put)
  --size N|A:B   bytes of a ping, from 8; A:B: powers of two from A to B; K, M, G may follow (8:1M)
  --threads T    of a rank that call; A:B: all numbers from A to B (1, 2, 4 and 8)
  --pings P      of each thread in a wave (16)
  --waves N      (by size)
  --devices D    shared: one for all threads; dedicated: one for each (shared)
)",
      common_help, R"(
The bandwidth is of all ranks, in both directions.
)");
}

std::string poll_mask_help() {
  return absl::StrCat(
      R"(Measures what a thread that polls a device of its own loses by serving the default device, too, and how long
messages to that device take, by the attribute am_poll_mask: one poll in mask + 1 serves it. First one thread
and the default device of a rank whose threads poll their own; then all threads with their partners through
their own devices (the longest time counts). After K. Ibrahim, K. Yelick, "On the Conditions for Efficient
Interoperability with Threads" (2014), figures 6 and 7.

usage: lcrun -n RANKS gasnet_poll_mask [options]  RANKS is even; rank i with rank i + n/2

  --masks M,...  (0,1,3,7,15,31,63,127,255,511)
  --threads T    of a rank; A:B: all numbers from A to B (1, 2 and 4)
  --iters N      round trips (20000)
)",
      common_help);
}

}  // namespace perf
