#include "benchmarks/lci2/options.h"

#include <algorithm>
#include <optional>

namespace lci2 {
namespace {

namespace cli = lci::cli;

enum class device_choice { shared, dedicated };
enum class binding { core, none };
enum class format { text, json };

// Values of options that depend on others, or that the program keeps in another form.
struct parsed_options {
  std::optional<completion_kind> completion;
  std::optional<uint64_t> warmup;
  device_choice devices = device_choice::shared;
  binding bind = binding::core;
  format printed = format::text;
};

constexpr cli::word<operation> operations[] = {
    {"am", operation::am, "active message (post_am)"},
    {"send", operation::send, "send and receive (post_send, post_recv)"},
    {"put_signal", operation::put_signal,
     "put that signals the target and names its registration (post_put with mr and remote_comp)"}};
constexpr cli::word<test_kind> tests[] = {
    {"latency", test_kind::latency, "messages travel to and fro, one at a time: half a round trip"},
    {"rate", test_kind::rate, "rank 0 sends to rank 1, --window messages at a time"},
    {"bandwidth", test_kind::bandwidth, "the same, with large messages"}};
constexpr cli::word<completion_kind> completions[] = {
    {"queue", completion_kind::queue, "a completion queue for each thread"},
    {"handler", completion_kind::handler, "a function that counts"},
    {"sync", completion_kind::sync, "a synchronizer for each message under way (--op send)"}};
constexpr cli::word<device_choice> devices[] = {
    {"shared", device_choice::shared, "the default device for all threads"},
    {"dedicated", device_choice::dedicated,
     "a device for each thread; a single thread uses the default device"}};
constexpr cli::word<binding> bindings[] = {
    {"core", binding::core,
     "each thread to a core of its own, in the order of ranks and threads; if there are too few, "
     "neighbors share one. This is the rule of lci_perf"},
    {"none", binding::none, "no thread"}};
constexpr cli::word<format> formats[] = {
    {"text", format::text, "a table"},
    {"json", format::json, "an object per line, whose fields have the names of lci_perf"}};

constexpr char about[] =
    "Measures messages between two ranks, thread t with thread t. This program repeats the "
    "measurements of lci_perf independently: it shares no code with lci_perf, and it is written to "
    "the interface of LCI 2 only. It lends no messages, uses no thread teams, and never yields.";
constexpr char notes[] =
    "For each size, both ranks first exchange messages whose bytes are checked, and then measure. "
    "Measured messages are counted, and use one buffer for all messages of a thread. A receiver "
    "frees each active message, posts each receive again when a message has matched it, and "
    "answers every half of a window. The rate is the number of messages divided by the longer of "
    "the times of the two ranks. The mean of a latency is that of a run that reads the clock at "
    "its "
    "ends only. The median is that of a second run, in which rank 0 reads the clock once per round "
    "trip.\n\n"
    "benchmarks/lci2/compare runs this program and lci_perf in turns, and prints the cells where "
    "the two differ.\n\n"
    "The exit code is 0, or 1 if communication failed or a message was wrong, or 2 if the command "
    "line is wrong.";

cli::command command_of(options* chosen, parsed_options* parsed) {
  return {
      "lcrun -n 2 lci2_pairs [options]",
      about,
      {
          {"--op", "OP", "the operation", cli::choice(operations, &chosen->op)},
          {"--test", "TEST", "the measured quantity", cli::choice(tests, &chosen->test)},
          {"--size", "N|A:B",
           "bytes of a message; A:B: powers of two from A to B; K, M or G may follow a number",
           cli::size_range(&chosen->sizes).with_default("bandwidth: 64K; else 8")},
          {"--threads", "T", "threads of each rank",
           cli::number(1, static_cast<uint64_t>(max_threads), &chosen->threads)},
          {"--devices", "D", "the devices of the threads", cli::choice(devices, &parsed->devices)},
          {"--completion", "KIND", "the object that reports messages and the ends of operations",
           cli::choice(completions, &parsed->completion).with_default("queue; send: sync")},
          {"--window", "W", "rate, bandwidth: messages under way for each thread, at most",
           cli::number(1, static_cast<uint64_t>(max_window), &chosen->window)},
          {"--iters", "N", "round trips (latency) or windows of a measured run",
           cli::number(1, uint64_t{1} << 40, &chosen->iters).with_default("by size")},
          {"--warmup", "N", "the same of the run before it, which does not count",
           cli::number(0, uint64_t{1} << 40, &parsed->warmup).with_default("a tenth")},
          {"--checked-rounds", "N",
           "rounds of up to 64 messages in each direction whose bytes are checked",
           cli::number(0, 1000000, &chosen->checked_rounds)},
          {"--bind", "B", "what threads are bound to", cli::choice(bindings, &parsed->bind)},
          {"--format", "F", "how results are printed", cli::choice(formats, &parsed->printed)},
      },
      notes};
}

}  // namespace

options parse_options(int argc, const char* const* argv, cli::request* wanted) {
  options chosen;
  parsed_options parsed;
  *wanted = cli::parse(command_of(&chosen, &parsed), argc, argv).wanted;
  if (*wanted != cli::request::run) return {};
  const bool has_receives = chosen.op == operation::send;
  chosen.completion =
      parsed.completion.value_or(has_receives ? completion_kind::sync : completion_kind::queue);
  if (chosen.completion == completion_kind::sync && !has_receives) {
    throw cli::usage_error(std::string("--completion sync: is for --op send, not --op ") +
                           name_of(chosen.op));
  }
  chosen.own_devices = parsed.devices == device_choice::dedicated;
  chosen.bind = parsed.bind == binding::core;
  chosen.json = parsed.printed == format::json;
  if (chosen.test == test_kind::latency) chosen.window = 1;
  if (chosen.sizes.empty()) {
    chosen.sizes = {chosen.test == test_kind::bandwidth ? size_t{64} << 10 : 8};
  }
  // No run is as long as this.
  chosen.warmup = parsed.warmup.value_or(~uint64_t{0});
  return chosen;
}

uint64_t iterations_for(const options& chosen, size_t size) {
  if (chosen.iters > 0) return chosen.iters;
  if (chosen.test == test_kind::latency) return size <= 8192 ? 20000 : 1000;
  return std::max<uint64_t>(10, (uint64_t{20} << 20) / std::max<size_t>(size, 2048));
}

uint64_t warmup_for(const options& chosen, size_t size) {
  if (chosen.warmup != ~uint64_t{0}) return chosen.warmup;
  return std::max<uint64_t>(1, iterations_for(chosen, size) / 10);
}

const char* name_of(operation op) { return cli::name_of(operations, op); }
const char* name_of(test_kind test) { return cli::name_of(tests, test); }
const char* name_of(completion_kind completion) { return cli::name_of(completions, completion); }

std::string describe(const options& chosen) {
  std::string text = std::string(name_of(chosen.op)) + " " + name_of(chosen.test) + " " +
                     name_of(chosen.completion);
  for (const size_t size : chosen.sizes) text += " " + std::to_string(size);
  for (const uint64_t number :
       {static_cast<uint64_t>(chosen.threads), static_cast<uint64_t>(chosen.window), chosen.iters,
        chosen.warmup, chosen.checked_rounds}) {
    text += " " + std::to_string(number);
  }
  return text + (chosen.own_devices ? " dedicated" : " shared") + (chosen.bind ? " core" : " none");
}

std::string help_text() {
  options defaults;
  parsed_options parsed;
  return cli::help(command_of(&defaults, &parsed));
}

}  // namespace lci2
