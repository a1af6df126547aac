#include "benchmarks/perf/arguments.h"

#include <getopt.h>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"

namespace perf {
namespace {

constexpr size_t max_size = size_t{1} << 30;

// K, M and G (1024, ...) may follow. False if it is no size that can be sent.
bool is_size(absl::string_view text, size_t* size) {
  constexpr absl::string_view units = "KMG";
  const size_t unit =
      text.empty() ? units.npos
                   : units.find(absl::ascii_toupper(static_cast<unsigned char>(text.back())));
  const size_t shift = unit == units.npos ? 0 : 10 * (unit + 1);
  if (shift > 0) text.remove_suffix(1);
  uint64_t value = 0;
  if (!is_number(text, &value) || value > max_size >> shift) return false;
  *size = value << shift;
  return true;
}

bool is_power_of_two(size_t size) { return size > 0 && (size & (size - 1)) == 0; }

}  // namespace

bool read_arguments(int argc, char** argv, const std::vector<argument>& all) {
  constexpr int first_code = 1000;
  std::vector<option> long_options = {{"help", no_argument, nullptr, 'h'}};
  for (const argument& one : all) {
    long_options.push_back({one.name, one.has_value ? required_argument : no_argument, nullptr,
                            first_code + static_cast<int>(long_options.size()) - 1});
  }
  long_options.push_back({nullptr, 0, nullptr, 0});
  // getopt's own messages would come from every rank, and ours say more. ":": a missing value is
  // reported as such.
  opterr = 0;
  optind = 0;
  for (int code; (code = getopt_long(argc, argv, ":h", long_options.data(), nullptr)) != -1;) {
    if (code == 'h') return false;
    if (code == ':') {
      throw usage_error(absl::StrCat(argv[optind - 1], ": its value is missing; see --help"));
    }
    if (code == '?') {
      throw usage_error(
          absl::StrCat(argv[optind - 1],
                       ": not an option, or one without a value; see --help for those there are"));
    }
    const argument& one = all[static_cast<size_t>(code - first_code)];
    one.read(one.name, one.has_value ? optarg : "");
  }
  if (optind < argc) {
    throw usage_error(
        absl::StrCat(argv[optind], ": not an option; see --help for those there are"));
  }
  return true;
}

// SimpleAtoi would take signs and spaces.
bool is_number(absl::string_view text, uint64_t* value) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos &&
         absl::SimpleAtoi(text, value);
}

uint64_t read_number(absl::string_view option, absl::string_view text, uint64_t low,
                     uint64_t high) {
  uint64_t value = 0;
  if (!is_number(text, &value) || value < low || value > high) {
    throw usage_error(
        absl::StrCat("--", option, " ", text, ": must be a number from ", low, " to ", high));
  }
  return value;
}

std::vector<int> read_numbers(absl::string_view option, absl::string_view text, int low, int high) {
  const size_t colon = text.find(':');
  uint64_t from = 0;
  uint64_t to = 0;
  if (is_number(text.substr(0, colon), &from) &&
      is_number(colon == text.npos ? text : text.substr(colon + 1), &to) &&
      from >= static_cast<uint64_t>(low) && from <= to && to <= static_cast<uint64_t>(high)) {
    std::vector<int> all;
    for (uint64_t one = from; one <= to; ++one) all.push_back(static_cast<int>(one));
    return all;
  }
  throw usage_error(absl::StrCat("--", option, " ", text,
                                 ": must be N, or A:B with A <= B, numbers from ", low, " to ",
                                 high));
}

std::vector<size_t> doubling(size_t from, size_t to) {
  std::vector<size_t> sizes;
  for (size_t size = from; size <= to; size *= 2) sizes.push_back(size);
  return sizes;
}

std::vector<size_t> read_sizes(absl::string_view option, absl::string_view text) {
  const size_t colon = text.find(':');
  size_t from = 0;
  size_t to = 0;
  if (colon == text.npos) {
    if (is_size(text, &from)) return {from};
  } else if (is_size(text.substr(0, colon), &from) && is_size(text.substr(colon + 1), &to) &&
             is_power_of_two(from) && is_power_of_two(to) && from <= to) {
    return doubling(from, to);
  }
  throw usage_error(absl::StrCat("--", option, " ", text,
                                 ": must be N, or A:B, powers of two with A <= B; bytes, 0 to ",
                                 max_size, " (A from 1), which K, M or G may follow"));
}

}  // namespace perf
