#include "lci/base/env.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string_view>

#include "lci/base/strings.h"

namespace lci::base {
namespace {

Status invalid_value(std::string_view name, std::string_view text, std::string_view accepted) {
  return InvalidArgumentError(StrCat(name, "=\"", text, "\" is not accepted; give ", accepted));
}

// Applies a parser to the variable if it is set.
template <class T, class Parse>
StatusOr<T> from_env(const char* name, T default_value, Parse parse) {
  const std::optional<std::string> text = env_text(name);
  if (!text) return default_value;
  return parse(*text);
}

}  // namespace

std::optional<std::string> env_text(const char* name) {
  const char* raw = std::getenv(name);
  if (raw == nullptr) return std::nullopt;
  const std::string_view text = StripAsciiWhitespace(raw);
  if (text.empty()) return std::nullopt;
  return std::string(text);
}

StatusOr<int64_t> parse_int64(std::string_view name, std::string_view text, int64_t min,
                              int64_t max) {
  int64_t value = 0;
  if (!SimpleAtoi(text, &value) || value < min || value > max) {
    return invalid_value(name, text, StrCat("a whole number from ", min, " to ", max));
  }
  return value;
}

StatusOr<double> parse_double(std::string_view name, std::string_view text, double min,
                              double max) {
  double value = 0;
  if (!SimpleAtod(text, &value) || !std::isfinite(value) || value < min || value > max) {
    return invalid_value(name, text, StrCat("a number from ", min, " to ", max));
  }
  return value;
}

StatusOr<bool> parse_bool(std::string_view name, std::string_view text) {
  for (const char* word : {"1", "true", "yes", "on"}) {
    if (EqualsIgnoreCase(text, word)) return true;
  }
  for (const char* word : {"0", "false", "no", "off"}) {
    if (EqualsIgnoreCase(text, word)) return false;
  }
  return invalid_value(name, text, "1, true, yes, on, 0, false, no or off");
}

StatusOr<size_t> parse_size(std::string_view name, std::string_view text, size_t min, size_t max) {
  std::string_view digits = text;
  const size_t suffix =
      std::string_view("kmg").find(text.empty() ? '\0' : ascii_tolower(text.back()));
  const size_t shift = suffix == std::string_view::npos ? 0 : 10 * (suffix + 1);
  if (shift != 0) digits.remove_suffix(1);
  uint64_t value = 0;
  // SimpleAtoi alone would also accept white space and a sign.
  const bool only_digits = std::all_of(digits.begin(), digits.end(), ascii_isdigit);
  const bool valid = only_digits && SimpleAtoi(digits, &value) &&
                     value <= (std::numeric_limits<uint64_t>::max() >> shift);
  const uint64_t scaled = valid ? value << shift : 0;
  if (!valid || scaled < min || scaled > max) {
    return invalid_value(name, text,
                         StrCat("a number from ", min, " to ", max,
                                ", with an optional suffix k, M or G (powers of 1024)"));
  }
  return static_cast<size_t>(scaled);
}

StatusOr<int64_t> env_int64(const char* name, int64_t default_value, int64_t min, int64_t max) {
  return from_env(name, default_value,
                  [=](std::string_view text) { return parse_int64(name, text, min, max); });
}

StatusOr<double> env_double(const char* name, double default_value, double min, double max) {
  return from_env(name, default_value,
                  [=](std::string_view text) { return parse_double(name, text, min, max); });
}

StatusOr<bool> env_bool(const char* name, bool default_value) {
  return from_env(name, default_value,
                  [=](std::string_view text) { return parse_bool(name, text); });
}

StatusOr<size_t> env_size(const char* name, size_t default_value, size_t min, size_t max) {
  return from_env(name, default_value,
                  [=](std::string_view text) { return parse_size(name, text, min, max); });
}

std::string env_string(const char* name, std::string_view default_value) {
  const std::optional<std::string> text = env_text(name);
  return text ? *text : std::string(default_value);
}

}  // namespace lci::base
