#include "benchmarks/perf/options.h"

#include <getopt.h>

#include <algorithm>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace perf {
namespace {

constexpr size_t max_size = size_t{1} << 30;
// Tags of puts have 16 bits, of which a thread needs one value for each of its two batches.
constexpr uint64_t max_threads = 1024;
constexpr uint64_t max_window = 65536;
constexpr uint64_t max_iterations = uint64_t{1} << 40;

template <class Value>
struct named {
  const char* name;
  Value value;
};

constexpr named<operation> operations[] = {
    {"am", operation::am},   {"send", operation::send},
    {"put", operation::put}, {"put_signal", operation::put_signal},
    {"get", operation::get}, {"get_signal", operation::get_signal},
};
constexpr named<test_kind> tests[] = {
    {"latency", test_kind::latency},     {"rate", test_kind::rate},
    {"bandwidth", test_kind::bandwidth}, {"bibandwidth", test_kind::bibandwidth},
    {"connect", test_kind::connect},
};
constexpr named<completion_kind> completions[] = {
    {"queue", completion_kind::queue},
    {"handler", completion_kind::handler},
    {"counter", completion_kind::counter},
    {"sync", completion_kind::sync},
};
constexpr named<binding> bindings[] = {{"core", binding::core}, {"none", binding::none}};
constexpr named<memory_kind> memories[] = {{"registered", memory_kind::registered},
                                           {"allocated", memory_kind::allocated}};
constexpr named<output_format> formats[] = {
    {"text", output_format::text}, {"csv", output_format::csv}, {"json", output_format::json}};
// Not the simulated one, which joins no processes.
constexpr named<lci::attr_backend_t> backends[] = {{"auto", lci::attr_backend_t::none},
                                                   {"shm", lci::attr_backend_t::shm},
                                                   {"ibv", lci::attr_backend_t::ibv},
                                                   {"ofi", lci::attr_backend_t::ofi}};

template <class Value, size_t n>
const char* find_name(const named<Value> (&all)[n], Value value) {
  for (const named<Value>& one : all) {
    if (one.value == value) return one.name;
  }
  return "unknown";
}

template <class Value, size_t n>
Value choice(const named<Value> (&all)[n], absl::string_view option, absl::string_view text) {
  std::vector<absl::string_view> names;
  for (const named<Value>& one : all) {
    if (text == one.name) return one.value;
    names.push_back(one.name);
  }
  throw usage_error(
      absl::StrCat("--", option, " ", text, ": must be one of ", absl::StrJoin(names, ", ")));
}

// A whole number without sign or spaces, which SimpleAtoi would take.
bool plain_number(absl::string_view text, uint64_t* value) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos &&
         absl::SimpleAtoi(text, value);
}

uint64_t number(absl::string_view option, absl::string_view text, uint64_t low, uint64_t high) {
  uint64_t value = 0;
  if (!plain_number(text, &value) || value < low || value > high) {
    throw usage_error(
        absl::StrCat("--", option, " ", text, ": must be a number from ", low, " to ", high));
  }
  return value;
}

// K, M and G (1024, ...) may follow. False if it is no size that can be sent.
bool read_size(absl::string_view text, size_t* size) {
  constexpr absl::string_view units = "KMG";
  const size_t unit =
      text.empty() ? units.npos
                   : units.find(absl::ascii_toupper(static_cast<unsigned char>(text.back())));
  const size_t shift = unit == units.npos ? 0 : 10 * (unit + 1);
  if (shift > 0) text.remove_suffix(1);
  uint64_t value = 0;
  if (!plain_number(text, &value) || value > max_size >> shift) return false;
  *size = value << shift;
  return true;
}

bool is_power_of_two(size_t size) { return size > 0 && (size & (size - 1)) == 0; }

std::vector<size_t> doubling(size_t from, size_t to) {
  std::vector<size_t> sizes;
  for (size_t size = from; size <= to; size *= 2) sizes.push_back(size);
  return sizes;
}

std::vector<size_t> read_sizes(absl::string_view text) {
  const size_t colon = text.find(':');
  size_t from = 0;
  size_t to = 0;
  if (colon == text.npos) {
    if (read_size(text, &from)) return {from};
  } else if (read_size(text.substr(0, colon), &from) && read_size(text.substr(colon + 1), &to) &&
             is_power_of_two(from) && is_power_of_two(to) && from <= to) {
    return doubling(from, to);
  }
  throw usage_error(absl::StrCat("--size ", text,
                                 ": must be N, or A:B, powers of two with A <= B; bytes, 0 to ",
                                 max_size, " (A from 1), which K, M or G may follow"));
}

int read_devices(absl::string_view text, int threads) {
  if (text == "shared") return 1;
  if (text == "dedicated") return threads;
  uint64_t count = 0;
  if (!plain_number(text, &count) || count < 1 || count > static_cast<uint64_t>(threads)) {
    throw usage_error(absl::StrCat("--devices ", text,
                                   ": must be shared, dedicated or a number from 1 to --threads, ",
                                   threads));
  }
  return static_cast<int>(count);
}

bool has_window(test_kind test) {
  return test == test_kind::rate || test == test_kind::bandwidth || test == test_kind::bibandwidth;
}

enum code {
  code_help = 'h',
  code_op = 1000,
  code_test,
  code_size,
  code_threads,
  code_devices,
  code_completion,
  code_window,
  code_iters,
  code_warmup,
  code_validate,
  code_backend,
  code_bind,
  code_memory,
  code_format,
};

const option long_options[] = {
    {"help", no_argument, nullptr, code_help},
    {"op", required_argument, nullptr, code_op},
    {"test", required_argument, nullptr, code_test},
    {"size", required_argument, nullptr, code_size},
    {"threads", required_argument, nullptr, code_threads},
    {"devices", required_argument, nullptr, code_devices},
    {"completion", required_argument, nullptr, code_completion},
    {"window", required_argument, nullptr, code_window},
    {"iters", required_argument, nullptr, code_iters},
    {"warmup", required_argument, nullptr, code_warmup},
    {"validate", no_argument, nullptr, code_validate},
    {"backend", required_argument, nullptr, code_backend},
    {"bind", required_argument, nullptr, code_bind},
    {"memory", required_argument, nullptr, code_memory},
    {"format", required_argument, nullptr, code_format},
    {nullptr, 0, nullptr, 0},
};

void read_one(int code, options* chosen) {
  switch (code) {
    case code_op:
      chosen->op = choice(operations, "op", optarg);
      break;
    case code_test:
      chosen->test = choice(tests, "test", optarg);
      break;
    case code_size:
      chosen->sizes = read_sizes(optarg);
      break;
    case code_threads:
      chosen->threads = static_cast<int>(number("threads", optarg, 1, max_threads));
      break;
    case code_devices:
      chosen->devices = optarg;
      break;
    case code_completion:
      chosen->completion = choice(completions, "completion", optarg);
      break;
    case code_window:
      chosen->window = static_cast<int>(number("window", optarg, 1, max_window));
      break;
    case code_iters:
      chosen->iters = number("iters", optarg, 1, max_iterations);
      break;
    case code_warmup:
      chosen->warmup = static_cast<int64_t>(number("warmup", optarg, 0, max_iterations));
      break;
    case code_validate:
      chosen->validate = true;
      break;
    case code_backend:
      chosen->backend = choice(backends, "backend", optarg);
      break;
    case code_bind:
      chosen->bind = choice(bindings, "bind", optarg);
      break;
    case code_memory:
      chosen->memory = choice(memories, "memory", optarg);
      break;
    default:
      chosen->format = choice(formats, "format", optarg);
      break;
  }
}

}  // namespace

options parse_options(int argc, char** argv, bool* help) {
  *help = false;
  options chosen;
  // getopt's own messages would come from every rank, and ours say more. ":": a missing value is
  // reported as such.
  opterr = 0;
  optind = 0;
  for (int code; (code = getopt_long(argc, argv, ":h", long_options, nullptr)) != -1;) {
    if (code == code_help) {
      *help = true;
      return {};
    }
    if (code == ':') {
      throw usage_error(absl::StrCat(argv[optind - 1], ": its value is missing; see --help"));
    }
    if (code == '?') {
      throw usage_error(
          absl::StrCat(argv[optind - 1],
                       ": not an option, or one without a value; see --help for those there are"));
    }
    read_one(code, &chosen);
  }
  if (optind < argc) {
    throw usage_error(
        absl::StrCat(argv[optind], ": not an option; see --help for those there are"));
  }
  chosen.device_count = read_devices(chosen.devices, chosen.threads);
  if (!has_window(chosen.test)) chosen.window = 1;
  if (chosen.sizes.empty()) {
    const bool small = chosen.test == test_kind::rate || chosen.test == test_kind::connect;
    chosen.sizes = small ? std::vector<size_t>{8} : doubling(1, size_t{4} << 20);
  }
  return chosen;
}

uint64_t iterations_for(const options& chosen, size_t size) {
  if (chosen.iters > 0) return chosen.iters;
  if (chosen.test == test_kind::connect) return 10;
  // Long enough to measure, short enough to wait for.
  if (!has_window(chosen.test)) {
    return size <= 8192 ? 10000 : size <= (size_t{1} << 20) ? 1000 : 200;
  }
  // Some 10 MB for each message of the window.
  return size <= 1024 ? 10000 : std::max<uint64_t>(10, 10000 * uint64_t{1024} / size);
}

uint64_t warmup_for(const options& chosen, size_t size) {
  if (chosen.warmup >= 0) return static_cast<uint64_t>(chosen.warmup);
  return std::max<uint64_t>(1, iterations_for(chosen, size) / 10);
}

bool is_one_sided(operation op) { return op == operation::put || op == operation::get; }

const char* name_of(operation op) { return find_name(operations, op); }
const char* name_of(test_kind test) { return find_name(tests, test); }
const char* name_of(completion_kind completion) { return find_name(completions, completion); }
const char* name_of(binding bind) { return find_name(bindings, bind); }
const char* name_of(memory_kind memory) { return find_name(memories, memory); }
const char* name_of(lci::attr_backend_t backend) { return find_name(backends, backend); }

std::string describe(const options& chosen) {
  return absl::StrCat(name_of(chosen.op), " ", name_of(chosen.test), " sizes ",
                      absl::StrJoin(chosen.sizes, ","), " threads ", chosen.threads, " devices ",
                      chosen.device_count, " completion ", name_of(chosen.completion), " window ",
                      chosen.window, " iters ", chosen.iters, " warmup ", chosen.warmup,
                      " validate ", chosen.validate ? 1 : 0, " bind ", name_of(chosen.bind),
                      " memory ", name_of(chosen.memory));
}

std::string help_text() {
  return R"(Measures communication between pairs of ranks: rank i with rank i + n/2, thread t with thread t.

usage: lcrun -n RANKS lci_perf [options]        RANKS is even

  --op OP            am (active message), send (send and receive), put, put_signal, get, get_signal (am)
  --test TEST        what is measured (latency):
                       latency      messages to and fro, one at a time: one way, that is half of a
                                    round trip; put and get: from the call until it is complete
                       rate, bandwidth
                                    the first half of the ranks sends to the others, or gets from them
                       bibandwidth  both halves do
                       connect      from the making of a runtime with its devices until every thread
                                    has sent and received its first message through it
  --size N|A:B       bytes of a message; A:B: powers of two from A to B; K, M, G may follow
                     (rate, connect: 8; else 1:4M)
  --threads T        threads of each rank that communicate (1)
  --devices D        shared: one for all threads; dedicated: one for each; or a number up to T, which
                     are dealt out in turn (shared)
  --completion KIND  how the end of an operation, and a message, is noticed: queue, handler, counter,
                     sync (queue). An active message is lent to a handler or counter (lend_am); for a
                     queue or sync the library allocates a buffer for it, which the tool frees
  --window W         rate, bandwidth, bibandwidth: messages under way at most for each thread (64).
                     The receiver acknowledges every half of a window
  --iters N          round trips (latency), windows, or connections; measured twice, see below (by size)
  --warmup N         as many before that do not count (a tenth)
  --validate         every message's bytes are written anew and checked, which the figures include
  --backend B        auto, shm, ibv, ofi (auto)
  --bind B           core: each thread on a processor core of its own; if there are too few, neighbours share one, and
                     ranks have theirs to themselves as far as there are; none (core)
  --memory M         what put and get reach: registered, the tool's own memory; allocated, the library's
                     (alloc_mr), which the ranks of a host map (registered)
  --format F         text; csv; json: one object a line (text)
  -h, --help         this text

Every size is measured twice. Rates, and the mean of a latency, are from a run that looks at the clock
only at its ends; messages are divided by the longest time that any rank needed, of both sides.
Percentiles are from a run that looks at the clock once per message and side (rate and bandwidth: once
per half window, from its first call until it is acknowledged or, for put and get, complete). Nothing
is subtracted for the clock; text says what a look costs. Buffers have been written before; without
--validate a thread uses the same one for all messages, as other benchmarks do.

The exit code is 0, or 1 if communication failed or bytes were wrong, or 2 if the command line is.
)";
}

}  // namespace perf
