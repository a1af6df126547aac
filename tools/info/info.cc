#include "tools/info/info.h"

#include <unistd.h>

#include "lci/api/attr.hpp"
#include "lci/api/config.hpp"
#include "lci/base/env.h"
#include "lci/base/strings.h"
#include "lci/net/backend.h"
#include "lci/runtime/core/attribute_names.h"
#include "lci/runtime/core/attributes.h"
#include "lci/runtime/core/variables.h"

namespace lci::info {

base::StatusOr<std::vector<attribute_info>> attributes() {
  const base::StatusOr<global_attr_t> now = rt::attributes_from_environment();
  if (!now.ok()) return now.status();
  const global_attr_t builtin;
  std::vector<attribute_info> found;
  std::string resource;
  const auto add = [&](const char* name, std::string values, std::string usual, std::string value,
                       const char* meaning) {
    const std::string variable = base::StrCat("LCI_ATTR_", base::AsciiStrToUpper(name));
    const bool is_set = base::env_text(variable.c_str()).has_value();
    found.push_back({resource, name, variable, std::move(values), std::move(usual),
                     std::move(value), is_set, meaning});
  };
#define LCI_INFO_ATTR(type_, name_, default_, doc_)                                    \
  add(#name_, rt::attribute_values<type_>(), rt::attribute_text<type_>(builtin.name_), \
      rt::attribute_text<type_>(now->name_), doc_);
#define LCI_INFO_RESOURCE(text_, RESOURCE_) \
  resource = text_;                         \
  LCI_##RESOURCE_##_ATTRS(LCI_INFO_ATTR)
  LCI_INFO_RESOURCE("runtime", RUNTIME)
  LCI_INFO_RESOURCE("packet pool", PACKET_POOL)
  LCI_INFO_RESOURCE("matching engine", MATCHING_ENGINE)
  LCI_INFO_RESOURCE("completion object", COMP)
  LCI_INFO_RESOURCE("net context", NET_CONTEXT)
  LCI_INFO_RESOURCE("device", DEVICE)
#undef LCI_INFO_RESOURCE
#undef LCI_INFO_ATTR
  return found;
}

std::vector<variable_info> variables() {
  std::vector<variable_info> found;
  for (const rt::variable& each : rt::variables()) {
    const std::string name(each.name);
    // A secret is not for logs.
    std::string value = base::env_string(name.c_str(), "");
    if (name == "LCI_BOOT_TOKEN" && !value.empty()) value = "(set)";
    found.push_back({name, std::string(each.values), std::string(each.builtin), std::move(value),
                     std::string(each.meaning)});
  }
  return found;
}

std::vector<backend_info> backends() {
  std::vector<backend_info> found;
  for (const net::backend_entry* entry : net::list_backends()) {
    backend_info one;
    one.name = entry->name;
    one.is_usable = true;
    if (entry->describe != nullptr) {
      const auto facts = entry->describe();
      one.is_usable = facts.ok();
      if (facts.ok()) {
        for (const net::backend_fact& fact : *facts) one.facts.emplace_back(fact.name, fact.value);
      } else {
        one.reason = std::string(facts.status().message());
      }
    }
    found.push_back(std::move(one));
  }
  return found;
}

base::StatusOr<info> collect() {
  auto found = attributes();
  if (!found.ok()) return found.status();
  info all;
  all.version = LCI_VERSION_STRING;
  all.attributes = *std::move(found);
  all.variables = variables();
  all.backends = backends();
  for (const rt::unknown_variable& each : rt::unknown_variables(environ)) {
    all.unknown.emplace_back(each.name, each.nearest);
  }
  return all;
}

}  // namespace lci::info
