// The command line of lci2_pairs.
#ifndef BENCHMARKS_LCI2_OPTIONS_H_
#define BENCHMARKS_LCI2_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tools/cli/cli.h"

namespace lci2 {

enum class operation { am, send, put_signal };
enum class test_kind { latency, rate, bandwidth };
enum class completion_kind { queue, handler, sync };

struct options {
  operation op = operation::am;
  test_kind test = test_kind::latency;
  std::vector<size_t> sizes;  // bytes of a message, rising
  int threads = 1;            // of each rank
  bool own_devices = false;   // a device for each thread
  completion_kind completion = completion_kind::queue;
  int window = 64;              // messages under way for each thread, at most
  uint64_t iters = 0;           // round trips or windows of a measured run
  uint64_t warmup = 0;          // the same before it
  uint64_t checked_rounds = 4;  // rounds of checked messages, before the measured runs
  bool bind = true;
  bool json = false;
};

// Limits that let a thread and a slot share the 16 bits of the tag of a put.
constexpr int slot_bits = 10;
constexpr int max_threads = 1 << (16 - slot_bits);
constexpr int max_window = 1 << slot_bits;

// Reads the command line. Throws cli::usage_error. Without a run in *wanted, the result means
// nothing.
options parse_options(int argc, const char* const* argv, lci::cli::request* wanted);

std::string help_text();

// Round trips or windows of a measured run, and of the run before it that does not count.
uint64_t iterations_for(const options& chosen, size_t size);
uint64_t warmup_for(const options& chosen, size_t size);

// As they are spelt on the command line.
const char* name_of(operation op);
const char* name_of(test_kind test);
const char* name_of(completion_kind completion);

// All options that the two ranks must agree on, in one line.
std::string describe(const options& chosen);

}  // namespace lci2

#endif  // BENCHMARKS_LCI2_OPTIONS_H_
