#include "lci/runtime/attributes.h"

#include <cstdint>
#include <limits>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "lci/api/resource.hpp"
#include "lci/base/env.h"
#include "lci/runtime/device.h"
#include "lci/runtime/runtime.h"

namespace lci {
namespace rt {
namespace {

// One overload per type that an attribute can have.
absl::StatusOr<bool> read(const char* variable, bool fallback) {
  return base::env_bool(variable, fallback);
}

absl::StatusOr<int> read(const char* variable, int fallback) {
  const auto value = base::env_int64(variable, fallback, std::numeric_limits<int>::min(),
                                     std::numeric_limits<int>::max());
  if (!value.ok()) return value.status();
  return static_cast<int>(*value);
}

absl::StatusOr<size_t> read(const char* variable, size_t fallback) {
  return base::env_size(variable, fallback, 0, std::numeric_limits<size_t>::max());
}

absl::StatusOr<attr_backend_t> read(const char* variable, attr_backend_t fallback) {
  static constexpr base::enum_name<attr_backend_t> names[] = {
      {"none", attr_backend_t::none}, {"ibv", attr_backend_t::ibv}, {"ofi", attr_backend_t::ofi},
      {"ucx", attr_backend_t::ucx},   {"shm", attr_backend_t::shm},
  };
  return base::env_enum<attr_backend_t>(variable, fallback, names);
}

absl::StatusOr<attr_cq_type_t> read(const char* variable, attr_cq_type_t fallback) {
  static constexpr base::enum_name<attr_cq_type_t> names[] = {
      {"array_atomic", attr_cq_type_t::array_atomic}, {"lcrq", attr_cq_type_t::lcrq}};
  return base::env_enum<attr_cq_type_t>(variable, fallback, names);
}

template <class T>
absl::Status load(const char* name, const char* meaning, T* attribute) {
  const std::string variable = absl::StrCat("LCI_ATTR_", absl::AsciiStrToUpper(name));
  const absl::StatusOr<T> value = read(variable.c_str(), *attribute);
  if (!value.ok()) {
    return absl::Status(value.status().code(),
                        absl::StrCat(value.status().message(), " (", meaning, ")"));
  }
  *attribute = *value;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<global_attr_t> attributes_from_environment() {
  global_attr_t attr;
  absl::Status status;
#define LCI_ATTR_LOAD(type_, name_, default_, doc_) status.Update(load(#name_, doc_, &attr.name_));
  LCI_RUNTIME_ATTRS(LCI_ATTR_LOAD)
  LCI_DEVICE_ATTRS(LCI_ATTR_LOAD)
  LCI_COMP_ATTRS(LCI_ATTR_LOAD)
#undef LCI_ATTR_LOAD
  if (!status.ok()) return status;
  return attr;
}

}  // namespace rt

// The getters of the handles.
#define LCI_DEFINE_GETTER(handle_, attr_, type_, name_) \
  type_ handle_::get_attr_##name_() const { return get_impl()->attr_.name_; }

#define LCI_RUNTIME_GETTER(type_, name_, default_, doc_) \
  LCI_DEFINE_GETTER(runtime_t, attr(), type_, name_)
LCI_RUNTIME_ATTRS(LCI_RUNTIME_GETTER)
LCI_RUNTIME_READONLY_ATTRS(LCI_RUNTIME_GETTER)
LCI_DEFINE_GETTER(runtime_t, attr(), const char*, name)
LCI_DEFINE_GETTER(runtime_t, attr(), void*, user_context)

#define LCI_DEVICE_GETTER(type_, name_, default_, doc_) \
  LCI_DEFINE_GETTER(device_t, attr, type_, name_)
LCI_DEVICE_ATTRS(LCI_DEVICE_GETTER)
LCI_DEVICE_READONLY_ATTRS(LCI_DEVICE_GETTER)
LCI_DEFINE_GETTER(device_t, attr, const char*, name)
LCI_DEFINE_GETTER(device_t, attr, void*, user_context)

#define LCI_COMP_GETTER(type_, name_, default_, doc_) LCI_DEFINE_GETTER(comp_t, attr, type_, name_)
LCI_COMP_ATTRS(LCI_COMP_GETTER)
LCI_COMP_READONLY_ATTRS(LCI_COMP_GETTER)
LCI_DEFINE_GETTER(comp_t, attr, const char*, name)
LCI_DEFINE_GETTER(comp_t, attr, void*, user_context)

}  // namespace lci
