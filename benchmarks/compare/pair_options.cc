#include "benchmarks/compare/pair_options.h"

#include <sched.h>

#include <algorithm>
#include <cmath>

#include "tools/cli/cli.h"

namespace compare {
namespace {

namespace cli = lci::cli;

constexpr cli::word<test_t> tests[] = {
    {"latency", test_t::latency}, {"rate", test_t::rate}, {"bandwidth", test_t::bandwidth}};
constexpr cli::word<bool> bindings[] = {{"core", true}, {"none", false}};

// A message holds its number; larger messages are not part of the comparison.
constexpr uint64_t min_size = sizeof(uint64_t);
constexpr uint64_t max_size = 1 << 26;

const char* test_name(test_t test) { return cli::name_of(tests, test); }

cli::command command_of(const std::vector<std::string>& ops, options_t* options) {
  std::vector<cli::word<std::string>> op_words;
  for (const std::string& op : ops) op_words.push_back({op.c_str(), op});
  cli::value window = cli::number(2, 4096, &options->window);
  window.allowed = "an even number from 2 to 4096";
  window.set = [options, set = window.set](std::string_view text) {
    return set(text) && options->window % 2 == 0;
  };
  return {"PROGRAM --op OP [options]",
          "",
          {{"--op", "OP", "the way of communicating", cli::choice(op_words, &options->op)},
           {"--test", "TEST", "the measured quantity", cli::choice(tests, &options->test)},
           {"--size", "N", "bytes of a message", cli::number(min_size, max_size, &options->size)},
           {"--threads", "T", "threads of each rank", cli::number(1, 64, &options->threads)},
           {"--window", "W", "messages before the receiver answers", window},
           {"--seconds", "S", "duration of the measurement", cli::real(0, 60, &options->seconds)},
           {"--bind", "B", "what ranks are bound to", cli::choice(bindings, &options->bind_core)},
           {"--read", "",
            "with --test latency: the receiver reads every byte of a message before it answers",
            cli::flag(&options->read)}}};
}

}  // namespace

std::string parse_options(int argc, char** argv, const std::vector<std::string>& ops,
                          options_t* options) {
  const cli::command command = command_of(ops, options);
  try {
    if (cli::parse(command, argc, argv).wanted == cli::request::help) return cli::help(command);
  } catch (const cli::usage_error& error) {
    return error.what();
  }
  if (options->read && options->test != test_t::latency) return "--read: is for --test latency";
  return options->op.empty() ? "--op is missing" : "";
}

double percentile(std::vector<float>* values, double fraction) {
  if (values->empty()) {
    return 0;
  }
  const double rank = std::ceil(fraction * static_cast<double>(values->size()));
  const auto nth =
      values->begin() + std::max<std::ptrdiff_t>(0, static_cast<std::ptrdiff_t>(rank) - 1);
  std::nth_element(values->begin(), nth, values->end());
  return static_cast<double>(*nth);
}

void print_result(std::FILE* out, const options_t& options, const std::string& backend,
                  result_t* result) {
  const double rate = static_cast<double>(result->messages) / result->seconds;
  std::fprintf(out,
               "{\"op\": \"%s\", \"test\": \"%s\", \"size\": %zu, \"threads\": %d, \"devices\": "
               "\"dedicated\", \"backend\": \"%s\", \"ranks\": 2, ",
               options.op.c_str(), test_name(options.test), options.size, options.threads,
               backend.c_str());
  if (options.test == test_t::latency) {
    const double mean =
        result->seconds * options.threads / static_cast<double>(result->messages) * 1e6;
    std::fprintf(out,
                 "\"latency_us_mean\": %.4f, \"latency_us_p50\": %.4f, \"latency_us_p99\": %.4f, "
                 "\"latency_us_max\": %.4f, ",
                 mean, percentile(&result->one_way_us, 0.5), percentile(&result->one_way_us, 0.99),
                 percentile(&result->one_way_us, 1));
  }
  std::fprintf(out, "\"messages_per_s\": %.1f, \"bytes_per_s\": %.1f}\n", rate,
               rate * static_cast<double>(options.size));
  std::fflush(out);
}

void bind_thread(int rank, int thread, int threads) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  const int all = 2 * threads;
  const int position = rank * threads + thread;
  const int processors = CPU_COUNT(&allowed);
  bind_to_core(all <= processors ? position : position * processors / all);
}

void bind_to_core(int index) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
    return;
  }
  int skip = index % std::max(1, CPU_COUNT(&allowed));
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed) && skip-- == 0) {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(cpu, &one);
      sched_setaffinity(0, sizeof one, &one);
      return;
    }
  }
}

}  // namespace compare
