// A result as a line of JSON or CSV.
#ifndef BENCHMARKS_PERF_FIELDS_H_
#define BENCHMARKS_PERF_FIELDS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace perf {

struct field {
  absl::string_view name;
  std::string value;
  bool is_text;  // else as JSON writes it
};

// Each ends with a newline.
std::string json_line(const std::vector<field>& all);
std::string csv_line(const std::vector<field>& all);  // RFC 4180
std::string csv_header(const std::vector<field>& all);

}  // namespace perf

#endif  // BENCHMARKS_PERF_FIELDS_H_
