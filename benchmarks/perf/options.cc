#include "benchmarks/perf/options.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lci/api/config.hpp"

namespace perf {
namespace {

// Tags of puts have 16 bits. A thread needs one tag for each of its two batches.
constexpr uint64_t max_threads = 1024;
constexpr uint64_t max_window = 65536;
constexpr uint64_t max_iterations = uint64_t{1} << 40;
constexpr double max_seconds = 86400;
constexpr uint64_t max_polls = 1000000;
constexpr uint64_t max_progress_calls = 1000000;

constexpr cli::word<operation> operations[] = {
    {"am", operation::am, "active message"},
    {"send", operation::send, "send and receive"},
    {"put", operation::put, "put without notification"},
    {"put_signal", operation::put_signal, "put that signals the target"},
    {"get", operation::get, "get without notification"},
    {"get_signal", operation::get_signal, "get that signals the target"},
    {"plan", operation::plan,
     "the messages of half a window are puts that are recorded once and started together, and a "
     "signal counts them at the target (--test latency: one put)"},
    {"add", operation::add, "atomic addition to an integer of --size bytes, 4 or 8"},
    {"bit_and", operation::bit_and, "atomic and with it"},
    {"bit_or", operation::bit_or, "atomic or with it"},
    {"bit_xor", operation::bit_xor, "atomic exclusive or with it"},
    {"fetch_add", operation::fetch_add, "atomic addition that fetches the former value"},
    {"swap", operation::swap, "atomic swap, which fetches it"},
    {"compare_swap", operation::compare_swap, "atomic compare-and-swap that finds what it expects"},
    {"barrier", operation::barrier, "collective, as all below: of all ranks, --test latency"},
    {"broadcast", operation::broadcast, "of --size bytes from rank 0"},
    {"reduce", operation::reduce, "to rank 0: the sums of --size bytes of doubles of each rank"},
    {"allreduce", operation::allreduce, "the same to all ranks"},
    {"reduce_scatter", operation::reduce_scatter,
     "each rank gets --size bytes of the sums, of as many from each rank for each"},
    {"allgather", operation::allgather, "of --size bytes from each rank to each"},
    {"alltoall", operation::alltoall, "the same, with other bytes for each"},
    {"gather", operation::gather, "of --size bytes from each rank to rank 0"},
    {"scatter", operation::scatter, "of --size bytes from rank 0 to each rank"},
    {"scan", operation::scan,
     "each rank gets the sums of --size bytes of doubles of the ranks up to it"},
    {"exscan", operation::exscan, "the same of the ranks before it"},
    {"reduce_scatterv", operation::reduce_scatterv,
     "as reduce_scatter: blocks of one size, through the call that takes a size for each rank"},
    {"allgatherv", operation::allgatherv, "as allgather, through such a call"},
    {"alltoallv", operation::alltoallv, "as alltoall, through such a call"},
};
constexpr cli::word<test_kind> tests[] = {
    {"latency", test_kind::latency,
     "messages travel to and fro, one at a time: the time of one way, half of a round trip; for "
     "put, get and atomic operations, the time from the call until the operation is complete; of a "
     "collective operation, the time of a call, one after the other"},
    {"rate", test_kind::rate,
     "the first half of the ranks sends to the other half, or gets from it"},
    {"bandwidth", test_kind::bandwidth, "the same, with large messages"},
    {"bibandwidth", test_kind::bibandwidth, "both halves send, or get"},
    {"connect", test_kind::connect,
     "the time from the allocation of a runtime with its devices until every thread has sent and "
     "received its first message through it"},
};
constexpr cli::word<completion_kind> completions[] = {
    {"queue", completion_kind::queue},     {"handler", completion_kind::handler},
    {"counter", completion_kind::counter}, {"sync", completion_kind::sync},
    {"signal", completion_kind::signal},
};
constexpr cli::word<binding> bindings[] = {
    {"core", binding::core,
     "each thread to a processor core of its own; if there are too few, neighbors share one, and "
     "ranks share none as far as possible"},
    {"none", binding::none, "no thread"}};
constexpr cli::word<memory_kind> memories[] = {
    {"registered", memory_kind::registered, "memory of the tool"},
    {"allocated", memory_kind::allocated,
     "memory of the library (alloc_mr), which the ranks of a host map"}};
constexpr cli::word<buffer_kind> buffer_kinds[] = {
    {"malloc", buffer_kind::malloc, "memory of the library's allocator, which the tool frees"},
    {"packet", buffer_kind::packet, "a packet (zero_copy_am), which the tool returns"}};
constexpr cli::word<output_format> formats[] = {
    {"text", output_format::text, "a table"},
    {"csv", output_format::csv, "comma-separated values with a header line"},
    {"json", output_format::json, "an object per line"}};
// Those of the interface; the library may have others.
constexpr cli::word<lci::attr_backend_t> backends[] = {{"auto", lci::attr_backend_t::none},
                                                       {"shm", lci::attr_backend_t::shm},
                                                       {"ibv", lci::attr_backend_t::ibv},
                                                       {"ofi", lci::attr_backend_t::ofi},
                                                       {"mixed", lci::attr_backend_t::mixed}};

constexpr char about[] =
    "Measures communication between pairs of ranks, rank i with rank i + n/2, thread t with "
    "thread t, and collective operations of all ranks.";
constexpr char notes[] =
    "Every size is measured twice. Rates, and the mean of a latency, are those of a run that "
    "reads the clock only at its ends; the number of messages is divided by the longest time that "
    "any rank needed, on both sides. Percentiles are those of a run that reads the clock once per "
    "message and side (rate and bandwidth: once per half window, from its first call until the "
    "receiver has acknowledged it or, for put, get and atomic operations, until it is complete). "
    "Nothing is subtracted for the clock; the format text states what a reading costs. Buffers "
    "have been written before; without --validate a thread uses the same buffer or integer for "
    "all messages, as other benchmarks do.\n\n"
    "With --overlap all ranks begin each operation together, behind a barrier, first without "
    "computation (the latency, from the start of the operation until its end has been waited for), "
    "then with computation between start and wait, which takes each rank about as long as its "
    "operations took before. The overlap in percent is max(0, 100 * (1 - (total - compute) / "
    "latency)), of the means of all ranks, as the OSU micro-benchmarks define it. The processor "
    "time includes the barriers.\n\n"
    "The exit code is 0, or 1 if communication failed, bytes were wrong or the results could not "
    "be "
    "written, or 2 if the command line is wrong.";

cli::option devices_option(std::string* to) {
  cli::value any;
  any.allowed = "shared, dedicated or a number from 1 to --threads";
  any.initial = *to;
  // Checked when all options have been read, since it depends on --threads: see read_devices.
  any.set = [to](std::string_view text) {
    *to = text;
    return true;
  };
  return {"--devices", "D",
          "shared: one for all threads; dedicated: one for each; or a number up to T, which the "
          "threads use in turn. A single device is the default device. Several are additional "
          "ones, since every thread also makes progress on the default device",
          any};
}

cli::command command_of(options* chosen, std::optional<completion_kind>* completion) {
  return {"lcrun -n RANKS lci_perf [options]    (for pairs, RANKS is even)",
          about,
          {
              {"--op", "OP", "the operation", cli::choice(operations, &chosen->op)},
              {"--test", "TEST", "the measured quantity", cli::choice(tests, &chosen->test)},
              {"--size", "N|A:B",
               "bytes of a message; A:B: powers of two from A to B; K, M or G may follow a number",
               cli::size_range(&chosen->sizes)
                   .with_default("rate, connect, atomic: 8; collective: 8:4M; else 1:4M")},
              {"--threads", "T",
               "threads of each rank that communicate; barrier, broadcast, reduce "
               "and allreduce are then operations of a thread team",
               cli::number(1, max_threads, &chosen->threads)},
              devices_option(&chosen->devices),
              {"--completion", "KIND",
               "the object that reports the end of an operation, and a message (a handler or "
               "counter is lent an active message, lend_am; for a queue or sync it arrives in a "
               "buffer, --buffers)",
               cli::choice(completions, completion).with_default("queue; plan: signal")},
              {"--window", "W",
               "rate, bandwidth, bibandwidth: messages in progress for each thread, at most; the "
               "receiver acknowledges every half of a window",
               cli::number(1, max_window, &chosen->window)},
              {"--iters", "N",
               "round trips (latency), windows or connections; measured twice, see below",
               cli::number(1, max_iterations, &chosen->iters).with_default("by size")},
              {"--time", "SECONDS",
               "how long each of the two measured runs of a size takes, instead of --iters; "
               "shorter runs before find out how many iterations that is",
               cli::real(0.001, max_seconds, &chosen->seconds).with_default("")},
              {"--warmup", "N", "iterations before, which do not count",
               cli::number(0, max_iterations, &chosen->warmup)
                   .with_default("a tenth; with --time none but those shorter runs")},
              {"--validate", "",
               "write the bytes of every message anew and check them, which the results include",
               cli::flag(&chosen->validate)},
              {"--read", "",
               "with --test latency of --op am, send, put_signal or plan: the receiver reads every "
               "byte of a message before it answers (of an active message that is lent, always)",
               cli::flag(&chosen->read)},
              backend_option(&chosen->backend),
              binding_option(&chosen->bind),
              {"--memory", "M", "what put, get and atomic operations reach",
               cli::choice(memories, &chosen->memory)},
              {"--buffers", "B", "what an active message to a queue or sync arrives in",
               cli::choice(buffer_kinds, &chosen->buffers)},
              {"--persistent", "",
               "record a collective operation once (alloc_persistent_coll), and start it for each "
               "measured call",
               cli::flag(&chosen->persistent)},
              {"--overlap", "",
               "measure how much of a collective operation's time passes while its ranks compute; "
               "see below",
               cli::flag(&chosen->overlap)},
              {"--progress-calls", "N",
               "with --overlap: calls of progress() during the computation, evenly distributed",
               cli::number(0, max_progress_calls, &chosen->progress_calls)},
              {"--yield", "N",
               "after N polls in a row that found nothing, yield the processor at each further "
               "poll; 0: never, the library yields (attribute progress_yield)",
               cli::number(0, max_polls, &chosen->yield)},
              {"--stats", "",
               "count messages, bytes, polls and more, and print a table of all ranks at the end "
               "(LCI_STATS=1); the measured times include the counting",
               cli::flag(&chosen->stats)},
              {"--format", "F", "how results are printed", cli::choice(formats, &chosen->format)},
          },
          notes,
          version_text()};
}

int read_devices(const std::string& text, int threads) {
  if (text == "shared") return 1;
  if (text == "dedicated") return threads;
  uint64_t count = 0;
  if (!cli::read_number(text, 1, static_cast<uint64_t>(threads), &count)) {
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

void check_read(const options& chosen) {
  if (!chosen.read) return;
  if (chosen.test != test_kind::latency) {
    throw usage_error(absl::StrCat("--read: is for --test latency, not ", name_of(chosen.test)));
  }
  switch (chosen.op) {
    case operation::am:
    case operation::send:
    case operation::put_signal:
    case operation::plan:
      return;
    default:
      throw usage_error(absl::StrCat("--read: is for --op am, send, put_signal and plan, not ",
                                     name_of(chosen.op)));
  }
}

// Options that only collective operations have.
void check_collective_only(const options& chosen) {
  if (chosen.progress_calls > 0 && !chosen.overlap) {
    throw usage_error(absl::StrCat("--progress-calls ", chosen.progress_calls,
                                   ": is for --overlap, as only a rank that computes needs it"));
  }
  if (!chosen.persistent && !chosen.overlap) return;
  const char* const name = chosen.persistent ? "--persistent" : "--overlap";
  if (!is_collective(chosen.op)) {
    throw usage_error(absl::StrCat(name, ": is for collective operations, such as --op allreduce, ",
                                   "not --op ", name_of(chosen.op)));
  }
  if (chosen.threads != 1) {
    throw usage_error(absl::StrCat("--threads ", chosen.threads, ": with ", name,
                                   " one thread of each rank calls the operation"));
  }
}

// Options that collective operations do not have.
void check_collective(const options& chosen) {
  const std::string op = absl::StrCat("--op ", name_of(chosen.op));
  if (chosen.test != test_kind::latency) {
    throw usage_error(absl::StrCat("--test ", name_of(chosen.test), ": ", op,
                                   " is collective, and measured by --test latency"));
  }
  if (chosen.threads != 1 && !has_thread_teams(chosen.op)) {
    throw usage_error(absl::StrCat("--threads ", chosen.threads, ": ", op,
                                   " is collective, and called by one thread of each rank"));
  }
  for (const size_t size : chosen.sizes) {
    if (combines(chosen.op) && size % sizeof(double) != 0) {
      throw usage_error(absl::StrCat("--size ", size, ": ", op, " adds doubles, of ",
                                     sizeof(double), " bytes each"));
    }
  }
}

void check_atomic(const options& chosen) {
  for (const size_t size : chosen.sizes) {
    if (size != 4 && size != 8) {
      throw usage_error(absl::StrCat("--size ", size, ": --op ", name_of(chosen.op),
                                     " changes an integer of 4 or 8 bytes"));
    }
  }
}

completion_kind completion_for(operation op, const std::optional<completion_kind>& requested) {
  const bool is_plan = op == operation::plan;
  if (!requested) return is_plan ? completion_kind::signal : completion_kind::queue;
  if (is_plan == (*requested == completion_kind::signal)) return *requested;
  throw usage_error(
      absl::StrCat("--completion ", name_of(*requested),
                   is_plan ? ": --op plan reports by signals" : ": is for --op plan"));
}

bool has_window(test_kind test) {
  return test == test_kind::rate || test == test_kind::bandwidth || test == test_kind::bibandwidth;
}

}  // namespace

options parse_options(int argc, const char* const* argv, cli::request* wanted) {
  options chosen;
  std::optional<completion_kind> completion;
  *wanted = cli::parse(command_of(&chosen, &completion), argc, argv).wanted;
  if (*wanted != cli::request::run) return {};
  chosen.completion = completion_for(chosen.op, completion);
  chosen.device_count = read_devices(chosen.devices, chosen.threads);
  check_buffers(chosen);
  check_read(chosen);
  check_collective_only(chosen);
  if (chosen.iters > 0 && chosen.seconds > 0) {
    throw usage_error("--time and --iters: only one of them can say how long a run is");
  }
  if (!has_window(chosen.test)) chosen.window = 1;
  if (chosen.op == operation::barrier) {
    chosen.sizes = {0};
  } else if (is_collective(chosen.op) && chosen.sizes.empty()) {
    chosen.sizes = cli::doubling(8, size_t{4} << 20);
  }
  if (is_collective(chosen.op)) check_collective(chosen);
  if (is_atomic(chosen.op)) check_atomic(chosen);
  if (chosen.sizes.empty()) {
    const bool small =
        chosen.test == test_kind::rate || chosen.test == test_kind::connect || is_atomic(chosen.op);
    chosen.sizes = small ? std::vector<size_t>{8} : cli::doubling(1, size_t{4} << 20);
  }
  return chosen;
}

cli::option backend_option(std::string* to) {
  return {"--backend", "B", "the transport, as in LCI_ATTR_BACKEND", cli::text(to)};
}

cli::option binding_option(binding* to) {
  return {"--bind", "B", "what threads are bound to", cli::choice(bindings, to)};
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

bool is_collective(operation op) { return op >= operation::barrier; }

bool has_thread_teams(operation op) {
  return op == operation::barrier || op == operation::broadcast || op == operation::reduce ||
         op == operation::allreduce;
}

bool combines(operation op) {
  switch (op) {
    case operation::reduce:
    case operation::allreduce:
    case operation::reduce_scatter:
    case operation::reduce_scatterv:
    case operation::scan:
    case operation::exscan:
      return true;
    default:
      return false;
  }
}

bool is_atomic(operation op) { return op >= operation::add && op <= operation::compare_swap; }

bool is_one_sided(operation op) {
  return op == operation::put || op == operation::get || is_atomic(op);
}

const char* name_of(operation op) { return cli::name_of(operations, op); }
const char* name_of(test_kind test) { return cli::name_of(tests, test); }
const char* name_of(completion_kind completion) { return cli::name_of(completions, completion); }
const char* name_of(binding bind) { return cli::name_of(bindings, bind); }
const char* name_of(memory_kind memory) { return cli::name_of(memories, memory); }
const char* name_of(buffer_kind buffers) { return cli::name_of(buffer_kinds, buffers); }
const char* name_of(lci::attr_backend_t backend) { return cli::name_of(backends, backend); }

std::string describe(const options& chosen) {
  return absl::StrCat(
      name_of(chosen.op), " ", name_of(chosen.test), " sizes ", absl::StrJoin(chosen.sizes, ","),
      " threads ", chosen.threads, " devices ", chosen.device_count, " completion ",
      name_of(chosen.completion), " window ", chosen.window, " iters ", chosen.iters, " time ",
      chosen.seconds, " warmup ", chosen.warmup, " validate ", chosen.validate ? 1 : 0, " read ",
      chosen.read ? 1 : 0, " bind ", name_of(chosen.bind), " memory ", name_of(chosen.memory),
      " buffers ", name_of(chosen.buffers), " persistent ", chosen.persistent ? 1 : 0, " overlap ",
      chosen.overlap ? 1 : 0, " progress calls ", chosen.progress_calls, " yield ", chosen.yield,
      " stats ", chosen.stats ? 1 : 0);
}

std::string version_text() { return "lci_perf (LCI) " LCI_VERSION_STRING "\n"; }

std::string help_text() {
  options defaults;
  std::optional<completion_kind> none;
  return cli::help(command_of(&defaults, &none));
}

}  // namespace perf
