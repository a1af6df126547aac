#include "lci/runtime/core/attributes.h"

#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include "lci/base/env.h"
#include "lci/base/log.h"
#include "lci/base/strings.h"
#include "lci/runtime/core/attribute_names.h"

namespace lci {
namespace rt {
namespace {

// One overload per type that an attribute can have.
base::StatusOr<bool> read(const char* variable, bool fallback) {
  return base::env_bool(variable, fallback);
}

base::StatusOr<int> read(const char* variable, int fallback) {
  const auto value = base::env_int64(variable, fallback, std::numeric_limits<int>::min(),
                                     std::numeric_limits<int>::max());
  if (!value.ok()) return value.status();
  return static_cast<int>(*value);
}

base::StatusOr<size_t> read(const char* variable, size_t fallback) {
  return base::env_size(variable, fallback, 0, std::numeric_limits<size_t>::max());
}

base::StatusOr<double> read(const char* variable, double fallback) {
  return base::env_double(variable, fallback, 0, 1);
}

base::StatusOr<std::string> read(const char* variable, const std::string& fallback) {
  return base::env_string(variable, fallback);
}

template <class Enum, class = std::enable_if_t<std::is_enum_v<Enum>>>
base::StatusOr<Enum> read(const char* variable, Enum fallback) {
  return base::env_enum<Enum>(variable, fallback, names_of<Enum>());
}

template <class T>
base::Status load(const char* name, const char* meaning, T* attribute) {
  const std::string variable = base::StrCat("LCI_ATTR_", base::AsciiStrToUpper(name));
  const base::StatusOr<T> value = read(variable.c_str(), *attribute);
  if (!value.ok()) {
    return base::Status(value.status().code(),
                        base::StrCat(value.status().message(), " (", meaning, ")"));
  }
  *attribute = *value;
  return base::OkStatus();
}

}  // namespace

base::StatusOr<global_attr_t> attributes_from_environment() {
  global_attr_t attr;
  base::Status status;
#define LCI_ATTR_LOAD(type_, name_, default_, doc_) status.Update(load(#name_, doc_, &attr.name_));
  LCI_GLOBAL_ATTRS(LCI_ATTR_LOAD)
#undef LCI_ATTR_LOAD
  if (!status.ok()) return status;
  return attr;
}

namespace {

// The first words of the meaning of an attribute that has no effect.
constexpr std::string_view no_effect = "no effect: ";

}  // namespace

template <class T>
void effect_reports::check(const char* name, std::string_view meaning, const T& value,
                           const T& builtin) {
  if (value == builtin || meaning.substr(0, no_effect.size()) != no_effect) return;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (!reported_.insert(name).second) return;
  }
  const std::string report =
      base::StrCat("attribute ", name, " (LCI_ATTR_", base::AsciiStrToUpper(name),
                   ") is set, which has no effect: ", meaning.substr(no_effect.size()));
  if (rank_ == 0) {
    LCI_LOG(warn, report);
  } else {
    LCI_LOG(info, report);
  }
}

#define LCI_ATTR_REPORT(type_, name_, default_, doc_) \
  check<type_>(#name_, doc_, attr.name_, builtin.name_);
void effect_reports::check(const net_context_attr_t& attr) {
  const net_context_attr_t builtin;
  LCI_NET_CONTEXT_ATTRS(LCI_ATTR_REPORT)
}
void effect_reports::check(const device_attr_t& attr) {
  const device_attr_t builtin;
  LCI_DEVICE_ATTRS(LCI_ATTR_REPORT)
}
#undef LCI_ATTR_REPORT

}  // namespace rt

}  // namespace lci
