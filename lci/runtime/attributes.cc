#include "lci/runtime/attributes.h"

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>

#include "lci/api/resource.hpp"
#include "lci/base/env.h"
#include "lci/base/log.h"
#include "lci/base/strings.h"
#include "lci/runtime/device.h"
#include "lci/runtime/plan.h"
#include "lci/runtime/runtime.h"

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

base::StatusOr<attr_backend_t> read(const char* variable, attr_backend_t fallback) {
  static constexpr base::enum_name<attr_backend_t> names[] = {
      {"auto", attr_backend_t::none}, {"none", attr_backend_t::none},
      {"ibv", attr_backend_t::ibv},   {"ofi", attr_backend_t::ofi},
      {"ucx", attr_backend_t::ucx},   {"shm", attr_backend_t::shm},
      {"sim", attr_backend_t::sim},   {"mixed", attr_backend_t::mixed},
  };
  return base::env_enum<attr_backend_t>(variable, fallback, names);
}

base::StatusOr<attr_cq_type_t> read(const char* variable, attr_cq_type_t fallback) {
  static constexpr base::enum_name<attr_cq_type_t> names[] = {
      {"array_atomic", attr_cq_type_t::array_atomic}, {"lcrq", attr_cq_type_t::lcrq}};
  return base::env_enum<attr_cq_type_t>(variable, fallback, names);
}

base::StatusOr<double> read(const char* variable, double fallback) {
  return base::env_double(variable, fallback, 0, 1);
}

base::StatusOr<std::string> read(const char* variable, const std::string& fallback) {
  return base::env_string(variable, fallback);
}

base::StatusOr<attr_matching_engine_type_t> read(const char* variable,
                                                 attr_matching_engine_type_t fallback) {
  static constexpr base::enum_name<attr_matching_engine_type_t> names[] = {
      {"queue", attr_matching_engine_type_t::queue}, {"map", attr_matching_engine_type_t::map}};
  return base::env_enum<attr_matching_engine_type_t>(variable, fallback, names);
}

base::StatusOr<attr_rdv_protocol_t> read(const char* variable, attr_rdv_protocol_t fallback) {
  static constexpr base::enum_name<attr_rdv_protocol_t> names[] = {
      {"auto_select", attr_rdv_protocol_t::auto_select},
      {"write", attr_rdv_protocol_t::write},
      {"writeimm", attr_rdv_protocol_t::writeimm}};
  return base::env_enum<attr_rdv_protocol_t>(variable, fallback, names);
}

base::StatusOr<attr_ibv_odp_strategy_t> read(const char* variable,
                                             attr_ibv_odp_strategy_t fallback) {
  static constexpr base::enum_name<attr_ibv_odp_strategy_t> names[] = {
      {"none", attr_ibv_odp_strategy_t::none},
      {"explicit_odp", attr_ibv_odp_strategy_t::explicit_odp},
      {"implicit_odp", attr_ibv_odp_strategy_t::implicit_odp}};
  return base::env_enum<attr_ibv_odp_strategy_t>(variable, fallback, names);
}

base::StatusOr<attr_ibv_prefetch_strategy_t> read(const char* variable,
                                                  attr_ibv_prefetch_strategy_t fallback) {
  static constexpr base::enum_name<attr_ibv_prefetch_strategy_t> names[] = {
      {"none", attr_ibv_prefetch_strategy_t::none},
      {"prefetch", attr_ibv_prefetch_strategy_t::prefetch},
      {"prefetch_write", attr_ibv_prefetch_strategy_t::prefetch_write},
      {"prefetch_no_fault", attr_ibv_prefetch_strategy_t::prefetch_no_fault}};
  return base::env_enum<attr_ibv_prefetch_strategy_t>(variable, fallback, names);
}

base::StatusOr<attr_ibv_td_strategy_t> read(const char* variable, attr_ibv_td_strategy_t fallback) {
  static constexpr base::enum_name<attr_ibv_td_strategy_t> names[] = {
      {"none", attr_ibv_td_strategy_t::none},
      {"all_qp", attr_ibv_td_strategy_t::all_qp},
      {"per_qp", attr_ibv_td_strategy_t::per_qp}};
  return base::env_enum<attr_ibv_td_strategy_t>(variable, fallback, names);
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

// What an attribute that has no effect means here instead begins its meaning.
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

// The getters of the handles.
namespace {
template <class Handle>
auto& impl_of(const Handle& handle, const char* attribute) {
  if (handle.is_empty()) {
    throw std::invalid_argument(base::StrCat("lci: ", attribute, ": the handle is empty"));
  }
  return *handle.p_impl;
}
const runtime_attr_t& attributes_of(const runtime_impl_t& impl) { return impl.attr(); }
template <class Impl>
const auto& attributes_of(const Impl& impl) {
  return impl.attr;
}
}  // namespace

#define LCI_DEFINE_GETTER(handle_, type_, name_)                    \
  type_ handle_::get_attr_##name_() const {                         \
    return attributes_of(impl_of(*this, "get_attr_" #name_)).name_; \
  }

#define LCI_GETTER_OF_runtime(type_, name_, default_, doc_) \
  LCI_DEFINE_GETTER(runtime_t, type_, name_)
#define LCI_GETTER_OF_packet_pool(type_, name_, default_, doc_) \
  LCI_DEFINE_GETTER(packet_pool_t, type_, name_)
#define LCI_GETTER_OF_matching_engine(type_, name_, default_, doc_) \
  LCI_DEFINE_GETTER(matching_engine_t, type_, name_)
#define LCI_GETTER_OF_comp(type_, name_, default_, doc_) LCI_DEFINE_GETTER(comp_t, type_, name_)
#define LCI_GETTER_OF_net_context(type_, name_, default_, doc_) \
  LCI_DEFINE_GETTER(net_context_t, type_, name_)
#define LCI_GETTER_OF_device(type_, name_, default_, doc_) LCI_DEFINE_GETTER(device_t, type_, name_)
#define LCI_GETTER_OF_mr(type_, name_, default_, doc_) LCI_DEFINE_GETTER(mr_t, type_, name_)
#define LCI_GETTER_OF_plan(type_, name_, default_, doc_) LCI_DEFINE_GETTER(plan_t, type_, name_)
#define LCI_GETTER_OF_endpoint(type_, name_, default_, doc_) \
  LCI_DEFINE_GETTER(endpoint_t, type_, name_)

#define LCI_DEFINE_GETTERS(resource_, RESOURCE_)                       \
  LCI_##RESOURCE_##_ATTRS(LCI_GETTER_OF_##resource_)                   \
      LCI_##RESOURCE_##_READONLY_ATTRS(LCI_GETTER_OF_##resource_)      \
          LCI_DEFINE_GETTER(resource_##_t, const char*, name)          \
              LCI_DEFINE_GETTER(resource_##_t, void*, user_context)    \
                  resource_##_attr_t resource_##_t::get_attr() const { \
    return attributes_of(impl_of(*this, "get_attr"));                  \
  }
LCI_RESOURCES(LCI_DEFINE_GETTERS)

}  // namespace lci
