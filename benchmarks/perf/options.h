// The command line of lci_perf.
#ifndef BENCHMARKS_PERF_OPTIONS_H_
#define BENCHMARKS_PERF_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lci.hpp"
#include "tools/cli/cli.h"

namespace perf {

namespace cli = lci::cli;
using cli::usage_error;

enum class operation {
  am,
  send,
  put,
  put_signal,
  get,
  get_signal,
  plan,
  // Atomic.
  add,
  bit_and,
  bit_or,
  bit_xor,
  fetch_add,
  swap,
  compare_swap,
  // Collective: of all ranks, and not of pairs.
  barrier,
  broadcast,
  reduce,
  allreduce,
  reduce_scatter,
  allgather,
  alltoall,
  gather,
  scatter,
  scan,
  exscan,
  reduce_scatterv,
  allgatherv,
  alltoallv
};
enum class test_kind { latency, rate, bandwidth, bibandwidth, connect };
// signal: of plans, and of nothing else.
enum class completion_kind { queue, handler, counter, sync, signal };
enum class binding { core, none };
enum class memory_kind { registered, allocated };
enum class buffer_kind { malloc, packet };
enum class output_format { text, csv, json };

struct options {
  operation op = operation::am;
  test_kind test = test_kind::latency;
  std::vector<size_t> sizes;       // bytes of a message, rising
  int threads = 1;                 // of each rank
  std::string devices = "shared";  // as it was given
  int device_count = 1;            // at most `threads`; thread t uses number t % device_count
  completion_kind completion = completion_kind::queue;
  int window = 64;      // messages under way at most; 1 if the test has no window
  uint64_t iters = 0;   // 0: by size, see iterations_for
  double seconds = 0;   // that a measured run takes; 0: as long as its iterations
  int64_t warmup = -1;  // -1: a tenth of the iterations, and none where `seconds` is given
  bool validate = false;
  bool read = false;  // latency of a send or an active message: with the reading of its bytes
  std::string backend = "auto";  // as in LCI_ATTR_BACKEND; run_program() checks it
  binding bind = binding::core;
  memory_kind memory = memory_kind::registered;
  buffer_kind buffers = buffer_kind::malloc;  // packet: of active messages to a queue or sync
  bool persistent = false;  // collective operations: recorded once, started many times
  bool overlap = false;     // collective operations: measured with computation as well
  int progress_calls = 0;   // of a rank that computes, for each operation
  int yield = 0;            // polls in vain before the tool yields by itself; 0: never
  bool stats = false;
  output_format format = output_format::text;
  // The seed of the bytes of messages. Not on the command line: it is for the test that
  // makes ranks disagree about it.
  uint64_t payload_seed = 0;
};

// Reads the command line. Throws usage_error, which names the option and what it may be. *wanted is
// what the user asked for; unless that is a run, the result means nothing.
options parse_options(int argc, const char* const* argv, cli::request* wanted);

// The text of --help.
std::string help_text();

// The text of --version.
std::string version_text();

// Round trips, windows or connections of a measured run, and those before it that do not count;
// without --time.
uint64_t iterations_for(const options& chosen, size_t size);
uint64_t warmup_for(const options& chosen, size_t size);

bool is_collective(operation op);
// A collective operation that several threads of a rank can call, as a thread team.
bool has_thread_teams(operation op);
// A collective operation that adds doubles.
bool combines(operation op);

// Atomic operations on an integer of 4 or 8 bytes of the target.
bool is_atomic(operation op);

// put, get and atomic operations without signal: the target takes no part, so only the initiator
// knows when.
bool is_one_sided(operation op);

// Options of other programs, too. Their values are written to *to, which is the default.
cli::option backend_option(std::string* to);
cli::option binding_option(binding* to);

// As they are spelt on the command line.
const char* name_of(operation op);
const char* name_of(test_kind test);
const char* name_of(completion_kind completion);
const char* name_of(binding bind);
const char* name_of(memory_kind memory);
const char* name_of(buffer_kind buffers);
const char* name_of(lci::attr_backend_t backend);

// All that two ranks must agree on, in one line.
std::string describe(const options& chosen);

}  // namespace perf

#endif  // BENCHMARKS_PERF_OPTIONS_H_
