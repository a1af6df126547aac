// Reading a command line of long options.
#ifndef BENCHMARKS_PERF_ARGUMENTS_H_
#define BENCHMARKS_PERF_ARGUMENTS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace perf {

// The command line is wrong; the message says how.
class usage_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// An option --name. `read` gets the option's name and value, and throws usage_error.
struct argument {
  const char* name;
  std::function<void(absl::string_view name, absl::string_view value)> read;
  bool has_value = true;
};

// Reads the options of a command line, in order. Throws usage_error, also for what is none of them.
// False if the user asked for help (--help, -h); then some may have been read. Not thread-safe
// (getopt).
bool read_arguments(int argc, char** argv, const std::vector<argument>& all);

// ---- values; each throws usage_error, which names the option and what it may be -----------------

template <class Value>
struct named {
  const char* name;
  Value value;
};

template <class Value, size_t n>
const char* find_name(const named<Value> (&all)[n], Value value) {
  for (const named<Value>& one : all) {
    if (one.value == value) return one.name;
  }
  return "unknown";
}

template <class Value, size_t n>
Value read_choice(const named<Value> (&all)[n], absl::string_view option, absl::string_view text) {
  std::vector<absl::string_view> names;
  for (const named<Value>& one : all) {
    if (text == one.name) return one.value;
    names.push_back(one.name);
  }
  throw usage_error(
      absl::StrCat("--", option, " ", text, ": must be one of ", absl::StrJoin(names, ", ")));
}

// A whole number without sign or spaces.
bool is_number(absl::string_view text, uint64_t* value);
uint64_t read_number(absl::string_view option, absl::string_view text, uint64_t low, uint64_t high);

// "N", or "A:B", all numbers from A to B. Rising.
std::vector<int> read_numbers(absl::string_view option, absl::string_view text, int low, int high);

// "N", or "A:B", all powers of two from A to B, in bytes, at most 1 GiB. Rising.
std::vector<size_t> read_sizes(absl::string_view option, absl::string_view text);

// Options with such values, which are written to *to. `all` lives as long as the argument.
template <class Value, size_t n>
argument choice_argument(const char* name, const named<Value> (&all)[n], Value* to) {
  return {name, [&all, to](absl::string_view option, absl::string_view text) {
            *to = read_choice(all, option, text);
          }};
}
template <class Number>
argument number_argument(const char* name, uint64_t low, uint64_t high, Number* to) {
  return {name, [low, high, to](absl::string_view option, absl::string_view text) {
            *to = static_cast<Number>(read_number(option, text, low, high));
          }};
}

std::vector<size_t> doubling(size_t from, size_t to);

}  // namespace perf

#endif  // BENCHMARKS_PERF_ARGUMENTS_H_
