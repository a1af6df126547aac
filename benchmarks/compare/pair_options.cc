#include "benchmarks/compare/pair_options.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

namespace compare {

namespace {

// The whole of text as a number from low to high.
bool parse_number(const char* text, double low, double high, double* out) {
  char* end = nullptr;
  const double value = std::strtod(text, &end);
  if (end == text || *end != '\0' || !(value >= low && value <= high)) {
    return false;
  }
  *out = value;
  return true;
}

const char* test_name(test_t test) {
  switch (test) {
    case test_t::latency:
      return "latency";
    case test_t::rate:
      return "rate";
    case test_t::bandwidth:
      return "bandwidth";
  }
  return "?";
}

}  // namespace

std::string parse_options(int argc, char** argv, const std::vector<std::string>& ops,
                          options_t* options) {
  if (argc % 2 == 0) {
    return std::string(argv[argc - 1]) + ": every option has one value";
  }
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    const std::string value = argv[i + 1];
    const auto whole = [&value](double low, double high, auto* out) {
      double number = 0;
      if (!parse_number(value.c_str(), low, high, &number) || number != std::floor(number)) {
        return false;
      }
      *out = static_cast<std::remove_reference_t<decltype(*out)>>(number);
      return true;
    };
    bool good = true;
    if (name == "--op") {
      good = std::find(ops.begin(), ops.end(), value) != ops.end();
      options->op = value;
    } else if (name == "--test") {
      good = false;
      for (const test_t test : {test_t::latency, test_t::rate, test_t::bandwidth}) {
        if (value == test_name(test)) {
          options->test = test;
          good = true;
        }
      }
    } else if (name == "--size") {
      // A message holds its number; more than this is not a message that the comparison has.
      good = whole(8, 1 << 26, &options->size);
    } else if (name == "--threads") {
      good = whole(1, 64, &options->threads);
    } else if (name == "--window") {
      good = whole(2, 4096, &options->window) && options->window % 2 == 0;
    } else if (name == "--seconds") {
      good = parse_number(value.c_str(), 0, 60, &options->seconds);
    } else if (name == "--bind") {
      good = value == "core" || value == "none";
      options->bind_core = value == "core";
    } else {
      return name + ": no such option";
    }
    if (!good) {
      return name + " " + value + ": not a value that it can have";
    }
  }
  if (options->op.empty()) {
    return "--op is missing";
  }
  return "";
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
