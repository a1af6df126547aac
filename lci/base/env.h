// The environment, typed. Every function returns the default when the variable is unset or empty,
// and an InvalidArgument error that names the variable, its value and what is accepted when the
// value is bad. The parse_ functions do the same for a text from elsewhere (a command line); `name`
// is what the error calls it.
//
// Thread safety: any thread at any time, as long as nobody changes the environment meanwhile.
#ifndef LCI_BASE_ENV_H_
#define LCI_BASE_ENV_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"

namespace lci::base {

// The value without surrounding white space; nullopt if unset or empty.
absl::optional<std::string> env_text(const char* name);

// Decimal, in [min, max].
absl::StatusOr<int64_t> parse_int64(absl::string_view name, absl::string_view text, int64_t min,
                                    int64_t max);
absl::StatusOr<int64_t> env_int64(const char* name, int64_t default_value, int64_t min,
                                  int64_t max);

// Decimal or scientific, finite, in [min, max].
absl::StatusOr<double> parse_double(absl::string_view name, absl::string_view text, double min,
                                    double max);
absl::StatusOr<double> env_double(const char* name, double default_value, double min, double max);

// 1/0, true/false, yes/no, on/off, in any case.
absl::StatusOr<bool> parse_bool(absl::string_view name, absl::string_view text);
absl::StatusOr<bool> env_bool(const char* name, bool default_value);

// A count or a number of bytes in [min, max]: decimal, with an optional suffix k, M or G (any case)
// for 2^10, 2^20 and 2^30.
absl::StatusOr<size_t> parse_size(absl::string_view name, absl::string_view text, size_t min,
                                  size_t max);
absl::StatusOr<size_t> env_size(const char* name, size_t default_value, size_t min, size_t max);

std::string env_string(const char* name, absl::string_view default_value);

// One accepted spelling of an enumerator. Matched in any case.
template <class Enum>
struct enum_name {
  absl::string_view name;
  Enum value;
};

template <class Enum>
absl::StatusOr<Enum> parse_enum(absl::string_view name, absl::string_view text,
                                absl::Span<const enum_name<Enum>> accepted) {
  std::string names;
  for (const enum_name<Enum>& candidate : accepted) {
    if (absl::EqualsIgnoreCase(text, candidate.name)) return candidate.value;
    absl::StrAppend(&names, names.empty() ? "" : ", ", candidate.name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat(name, "=\"", text, "\" is not accepted; give one of: ", names));
}

template <class Enum>
absl::StatusOr<Enum> env_enum(const char* name, Enum default_value,
                              absl::Span<const enum_name<Enum>> accepted) {
  const absl::optional<std::string> text = env_text(name);
  if (!text) return default_value;
  return parse_enum<Enum>(name, *text, accepted);
}

}  // namespace lci::base

#endif  // LCI_BASE_ENV_H_
