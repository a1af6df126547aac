#include "benchmarks/perf/fields.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace perf {
namespace {

std::string json_string(absl::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      absl::StrAppend(&result, "\\", std::string(1, c));
    } else if (static_cast<unsigned char>(c) < 0x20) {
      absl::StrAppendFormat(&result, "\\u%04x", c);
    } else {
      result += c;
    }
  }
  return result + "\"";
}

// RFC 4180.
std::string csv_string(absl::string_view text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return std::string(text);
  std::string result = "\"";
  for (const char c : text) result.append(c == '"' ? 2 : 1, c);
  return result + "\"";
}

}  // namespace

std::string json_line(const std::vector<field>& all) {
  return absl::StrCat("{",
                      absl::StrJoin(all, ", ",
                                    [](std::string* out, const field& one) {
                                      absl::StrAppend(
                                          out, "\"", one.name,
                                          "\": ", one.is_text ? json_string(one.value) : one.value);
                                    }),
                      "}\n");
}

std::string csv_line(const std::vector<field>& all) {
  return absl::StrCat(absl::StrJoin(all, ",",
                                    [](std::string* out, const field& one) {
                                      absl::StrAppend(out, csv_string(one.value));
                                    }),
                      "\n");
}

std::string csv_header(const std::vector<field>& all) {
  return absl::StrCat(
      absl::StrJoin(all, ",",
                    [](std::string* out, const field& one) { absl::StrAppend(out, one.name); }),
      "\n");
}

}  // namespace perf
