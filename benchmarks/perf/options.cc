#include "benchmarks/perf/options.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace perf {
namespace {

// Tags of puts have 16 bits, of which a thread needs one value for each of its two batches.
constexpr uint64_t max_threads = 1024;
constexpr uint64_t max_window = 65536;
constexpr uint64_t max_iterations = uint64_t{1} << 40;
constexpr uint64_t max_polls = 1000000;

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
constexpr named<buffer_kind> buffer_kinds[] = {{"malloc", buffer_kind::malloc},
                                               {"packet", buffer_kind::packet}};
constexpr named<output_format> formats[] = {
    {"text", output_format::text}, {"csv", output_format::csv}, {"json", output_format::json}};
// Not the simulated one, which joins no processes.
constexpr named<lci::attr_backend_t> backends[] = {{"auto", lci::attr_backend_t::none},
                                                   {"shm", lci::attr_backend_t::shm},
                                                   {"ibv", lci::attr_backend_t::ibv},
                                                   {"ofi", lci::attr_backend_t::ofi},
                                                   {"mixed", lci::attr_backend_t::mixed}};

int read_devices(absl::string_view text, int threads) {
  if (text == "shared") return 1;
  if (text == "dedicated") return threads;
  uint64_t count = 0;
  if (!is_number(text, &count) || count < 1 || count > static_cast<uint64_t>(threads)) {
    throw usage_error(absl::StrCat("--devices ", text,
                                   ": must be shared, dedicated or a number from 1 to --threads, ",
                                   threads));
  }
  return static_cast<int>(count);
}

void check_buffers(const options& chosen) {
  if (chosen.buffers == buffer_kind::malloc) return;
  if (chosen.op != operation::am) {
    throw usage_error(absl::StrCat("--buffers ", name_of(chosen.buffers),
                                   ": is for active messages, not --op ", name_of(chosen.op)));
  }
  if (chosen.completion != completion_kind::queue && chosen.completion != completion_kind::sync) {
    throw usage_error(absl::StrCat("--buffers ", name_of(chosen.buffers), ": --completion ",
                                   name_of(chosen.completion), " is lent messages; only queue and ",
                                   "sync need buffers"));
  }
}

bool has_window(test_kind test) {
  return test == test_kind::rate || test == test_kind::bandwidth || test == test_kind::bibandwidth;
}

}  // namespace

options parse_options(int argc, char** argv, bool* help) {
  options chosen;
  const std::vector<argument> all = {
      choice_argument("op", operations, &chosen.op),
      choice_argument("test", tests, &chosen.test),
      {"size", [&](auto option, auto text) { chosen.sizes = read_sizes(option, text); }},
      number_argument("threads", 1, max_threads, &chosen.threads),
      {"devices", [&](auto, auto text) { chosen.devices = std::string(text); }},
      choice_argument("completion", completions, &chosen.completion),
      number_argument("window", 1, max_window, &chosen.window),
      number_argument("iters", 1, max_iterations, &chosen.iters),
      number_argument("warmup", 0, max_iterations, &chosen.warmup),
      {"validate", [&](auto, auto) { chosen.validate = true; }, false},
      backend_argument(&chosen.backend),
      binding_argument(&chosen.bind),
      choice_argument("memory", memories, &chosen.memory),
      choice_argument("buffers", buffer_kinds, &chosen.buffers),
      number_argument("yield", 0, max_polls, &chosen.yield),
      choice_argument("format", formats, &chosen.format),
  };
  *help = !read_arguments(argc, argv, all);
  if (*help) return {};
  chosen.device_count = read_devices(chosen.devices, chosen.threads);
  check_buffers(chosen);
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

argument backend_argument(lci::attr_backend_t* to) {
  return choice_argument("backend", backends, to);
}
argument binding_argument(binding* to) { return choice_argument("bind", bindings, to); }

const char* name_of(operation op) { return find_name(operations, op); }
const char* name_of(test_kind test) { return find_name(tests, test); }
const char* name_of(completion_kind completion) { return find_name(completions, completion); }
const char* name_of(binding bind) { return find_name(bindings, bind); }
const char* name_of(memory_kind memory) { return find_name(memories, memory); }
const char* name_of(buffer_kind buffers) { return find_name(buffer_kinds, buffers); }
const char* name_of(lci::attr_backend_t backend) { return find_name(backends, backend); }

std::string describe(const options& chosen) {
  return absl::StrCat(name_of(chosen.op), " ", name_of(chosen.test), " sizes ",
                      absl::StrJoin(chosen.sizes, ","), " threads ", chosen.threads, " devices ",
                      chosen.device_count, " completion ", name_of(chosen.completion), " window ",
                      chosen.window, " iters ", chosen.iters, " warmup ", chosen.warmup,
                      " validate ", chosen.validate ? 1 : 0, " bind ", name_of(chosen.bind),
                      " memory ", name_of(chosen.memory), " buffers ", name_of(chosen.buffers),
                      " yield ", chosen.yield);
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
                     are dealt out in turn (shared). One is the default device; several are others,
                     since every thread also serves that one
  --completion KIND  how the end of an operation, and a message, is noticed: queue, handler, counter,
                     sync (queue). An active message is lent to a handler or counter (lend_am); for a
                     queue or sync it comes in a buffer, which the tool gives back (--buffers)
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
  --buffers B        what an active message to a queue or sync comes in: malloc, memory of the library's
                     allocator, which the tool frees; packet, a packet (zero_copy_am; put_upacket) (malloc)
  --yield N          after N polls in a row that found nothing the tool yields the processor at each more; 0: it never
                     does, and leaves that to the library (attribute progress_yield) (0)
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
