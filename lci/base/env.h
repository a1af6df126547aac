// Typed environment variables. Every function returns the default if the variable is unset or
// empty, and an InvalidArgument error with the variable, its value and the accepted values if the
// value is invalid. The parse_ functions parse a text from another source (a command line) in the
// same way; `name` is its name in the error.
//
// Thread safety: any thread at any time, as long as no thread changes the environment meanwhile.
#ifndef LCI_BASE_ENV_H_
#define LCI_BASE_ENV_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lci/base/status.h"
#include "lci/base/strings.h"

namespace lci::base {

// The value without surrounding white space; nullopt if unset or empty.
std::optional<std::string> env_text(const char* name);

// Decimal, in [min, max].
StatusOr<int64_t> parse_int64(std::string_view name, std::string_view text, int64_t min,
                              int64_t max);
StatusOr<int64_t> env_int64(const char* name, int64_t default_value, int64_t min, int64_t max);

// Decimal or scientific, finite, in [min, max].
StatusOr<double> parse_double(std::string_view name, std::string_view text, double min, double max);
StatusOr<double> env_double(const char* name, double default_value, double min, double max);

// 1/0, true/false, yes/no, on/off, in any case.
StatusOr<bool> parse_bool(std::string_view name, std::string_view text);
StatusOr<bool> env_bool(const char* name, bool default_value);

// A count or a number of bytes in [min, max]: decimal, with an optional suffix k, M or G (in any
// case) for 2^10, 2^20 and 2^30.
StatusOr<size_t> parse_size(std::string_view name, std::string_view text, size_t min, size_t max);
StatusOr<size_t> env_size(const char* name, size_t default_value, size_t min, size_t max);

std::string env_string(const char* name, std::string_view default_value);

// An accepted spelling of an enumerator, matched in any case.
template <class Enum>
struct enum_name {
  std::string_view name;
  Enum value;
};

// `accepted`: an array or a container of enum_name<Enum>.
template <class Enum, class Names>
StatusOr<Enum> parse_enum(std::string_view name, std::string_view text, const Names& accepted) {
  std::string names;
  for (const enum_name<Enum>& candidate : accepted) {
    if (EqualsIgnoreCase(text, candidate.name)) return candidate.value;
    StrAppend(&names, names.empty() ? "" : ", ", candidate.name);
  }
  return InvalidArgumentError(
      StrCat(name, "=\"", text, "\" is not accepted; give one of: ", names));
}

template <class Enum, class Names>
StatusOr<Enum> env_enum(const char* name, Enum default_value, const Names& accepted) {
  const std::optional<std::string> text = env_text(name);
  if (!text) return default_value;
  return parse_enum<Enum>(name, *text, accepted);
}

}  // namespace lci::base

#endif  // LCI_BASE_ENV_H_
