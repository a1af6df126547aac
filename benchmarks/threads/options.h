// The command lines of uccs_injection, uccs_waves and gasnet_poll_mask.
#ifndef BENCHMARKS_THREADS_OPTIONS_H_
#define BENCHMARKS_THREADS_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "benchmarks/perf/options.h"

namespace perf {

constexpr int max_threads = 256;

// Options of all programs.
struct threads_options {
  std::vector<int> threads;      // rising
  std::string backend = "auto";  // as in LCI_ATTR_BACKEND
  binding bind = binding::none;
  output_format format = output_format::text;  // text or json
};

struct injection_options : threads_options {
  int runs = 100;
  int warmup = 10;             // runs before that do not count
  uint64_t messages = 500000;  // of a run
  bool alone = false;          // a rank sends to itself
};

struct waves_options : threads_options {
  operation op = operation::put;  // or get
  std::vector<size_t> sizes;      // of a ping, rising
  bool dedicated = false;         // devices
  int pings = 16;                 // of each thread in a wave
  uint64_t waves = 0;             // 0: by size, see waves_for
};

struct poll_mask_options : threads_options {
  std::vector<int> masks;  // values of the attribute am_poll_mask, not negative
  uint64_t iters = 20000;
};

// Throw usage_error, which names the option and what it may be. *wanted is what the user asked for;
// unless that is a run, the result means nothing.
injection_options parse_injection(int argc, const char* const* argv, cli::request* wanted);
waves_options parse_waves(int argc, const char* const* argv, cli::request* wanted);
poll_mask_options parse_poll_mask(int argc, const char* const* argv, cli::request* wanted);

// Waves of a measured run; a tenth as many before that do not count.
uint64_t waves_for(const waves_options& chosen, size_t size, int threads);

// The text of --help.
std::string injection_help();
std::string waves_help();
std::string poll_mask_help();

// All that ranks must agree on, in one line.
std::string describe(const injection_options& chosen);
std::string describe(const waves_options& chosen);
std::string describe(const poll_mask_options& chosen);

}  // namespace perf

#endif  // BENCHMARKS_THREADS_OPTIONS_H_
