// The options of the programs of the comparison, and the line that they
// print.
#ifndef BENCHMARKS_COMPARE_PAIR_OPTIONS_H_
#define BENCHMARKS_COMPARE_PAIR_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace compare {

enum class test_t { latency, rate, bandwidth };

struct options_t {
  std::string op;  // which of the program's ways of communicating
  test_t test = test_t::latency;
  size_t size = 8;       // bytes of a message
  int threads = 1;       // of each of the two ranks; thread t talks to thread t
  int window = 64;       // messages before the receiver answers; rate and bandwidth only
  bool read = false;     // latency: with the reading of each message
  double seconds = 0.1;  // that the measurement takes
  bool bind_core =
      true;  // rank r on the r-th processor that this process may use; else the kernel decides
};

// Parses --op NAME --test latency|rate|bandwidth --size N --threads T --window W --seconds S --bind
// core|none --read. Returns what is wrong, naming the option, or the help that was asked for; empty:
// neither.
std::string parse_options(int argc, char** argv, const std::vector<std::string>& ops,
                          options_t* options);

struct result_t {
  uint64_t messages = 0;          // of all threads; latency: in both directions
  double seconds = 0;             // from the first message until the last answer
  std::vector<float> one_way_us;  // latency: half of each round trip, clock overhead included
};

// The value below which `fraction` of the values are (nearest rank). Reorders them. 0 if there are
// none.
double percentile(std::vector<float>* values, double fraction);

// Prints one line of JSON with the keys of lci_perf, and latency_us_mean.
void print_result(std::FILE* out, const options_t& options, const std::string& backend,
                  result_t* result);

// Puts the calling thread on the index-th of the processors that the process may use, modulo their
// number.
void bind_to_core(int index);

// The same for a thread of a rank, in a program of two ranks of so many threads each: a processor for
// each thread; if there are too few, neighbors share one, and ranks share none.
void bind_thread(int rank, int thread, int threads);

}  // namespace compare

#endif  // BENCHMARKS_COMPARE_PAIR_OPTIONS_H_
