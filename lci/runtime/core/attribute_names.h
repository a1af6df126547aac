// How values of attributes are written in variables LCI_ATTR_<NAME> and shown to people.
#ifndef LCI_RUNTIME_CORE_ATTRIBUTE_NAMES_H_
#define LCI_RUNTIME_CORE_ATTRIBUTE_NAMES_H_

#include <cstdio>
#include <string>
#include <type_traits>
#include <vector>

#include "lci/api/types.hpp"
#include "lci/base/env.h"
#include "lci/net/backend.h"

namespace lci::rt {

// The accepted spellings of an enumeration, each in attribute_names<Enum>::all. Of several
// spellings of one value the first is shown.
template <class Enum>
struct attribute_names;

template <>
struct attribute_names<attr_cq_type_t> {
  static constexpr base::enum_name<attr_cq_type_t> all[] = {
      {"array_atomic", attr_cq_type_t::array_atomic}, {"lcrq", attr_cq_type_t::lcrq}};
};

template <>
struct attribute_names<attr_matching_engine_type_t> {
  static constexpr base::enum_name<attr_matching_engine_type_t> all[] = {
      {"queue", attr_matching_engine_type_t::queue}, {"map", attr_matching_engine_type_t::map}};
};

template <>
struct attribute_names<attr_rdv_protocol_t> {
  static constexpr base::enum_name<attr_rdv_protocol_t> all[] = {
      {"auto_select", attr_rdv_protocol_t::auto_select},
      {"write", attr_rdv_protocol_t::write},
      {"writeimm", attr_rdv_protocol_t::writeimm}};
};

template <>
struct attribute_names<attr_ibv_odp_strategy_t> {
  static constexpr base::enum_name<attr_ibv_odp_strategy_t> all[] = {
      {"none", attr_ibv_odp_strategy_t::none},
      {"explicit_odp", attr_ibv_odp_strategy_t::explicit_odp},
      {"implicit_odp", attr_ibv_odp_strategy_t::implicit_odp}};
};

template <>
struct attribute_names<attr_ibv_prefetch_strategy_t> {
  static constexpr base::enum_name<attr_ibv_prefetch_strategy_t> all[] = {
      {"none", attr_ibv_prefetch_strategy_t::none},
      {"prefetch", attr_ibv_prefetch_strategy_t::prefetch},
      {"prefetch_write", attr_ibv_prefetch_strategy_t::prefetch_write},
      {"prefetch_no_fault", attr_ibv_prefetch_strategy_t::prefetch_no_fault}};
};

template <>
struct attribute_names<attr_ibv_td_strategy_t> {
  static constexpr base::enum_name<attr_ibv_td_strategy_t> all[] = {
      {"none", attr_ibv_td_strategy_t::none},
      {"all_qp", attr_ibv_td_strategy_t::all_qp},
      {"per_qp", attr_ibv_td_strategy_t::per_qp}};
};

template <class Enum>
const auto& names_of() {
  return attribute_names<Enum>::all;
}

// The backends of this library, by the names that they have in the registry.
template <>
inline const auto& names_of<attr_backend_t>() {
  static const std::vector<base::enum_name<attr_backend_t>> all = [] {
    std::vector<base::enum_name<attr_backend_t>> made = {{"auto", attr_backend_t::none},
                                                         {"none", attr_backend_t::none}};
    for (const net::backend_entry* each : net::list_backends()) {
      made.push_back({each->name, net::id_of(*each)});
    }
    made.push_back({"ucx", attr_backend_t::ucx});  // of LCI 2, and not available here
    return made;
  }();
  return all;
}

// A value as it can be written in its variable.
template <class T>
std::string attribute_text(const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_same_v<T, std::string>) {
    return value;
  } else if constexpr (std::is_enum_v<T>) {
    for (const base::enum_name<T>& each : names_of<T>()) {
      if (each.value == value) return std::string(each.name);
    }
    return "?";
  } else if constexpr (std::is_floating_point_v<T>) {
    char text[32];
    std::snprintf(text, sizeof(text), "%g", value);
    return text;
  } else {
    return std::to_string(value);
  }
}

// The values that the variable of an attribute accepts.
template <class T>
std::string attribute_values() {
  if constexpr (std::is_same_v<T, bool>) {
    return "true, false";
  } else if constexpr (std::is_same_v<T, std::string>) {
    return "text";
  } else if constexpr (std::is_enum_v<T>) {
    std::string names;
    for (const base::enum_name<T>& each : names_of<T>()) {
      base::StrAppend(&names, names.empty() ? "" : ", ", each.name);
    }
    return names;
  } else if constexpr (std::is_signed_v<T>) {
    return std::is_floating_point_v<T> ? "fraction" : "integer";
  } else {
    return "number, with k, M or G";
  }
}

}  // namespace lci::rt

#endif  // LCI_RUNTIME_CORE_ATTRIBUTE_NAMES_H_
