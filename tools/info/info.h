// The facts about the library on this host that lci_info prints.
#ifndef LCI_TOOLS_INFO_INFO_H_
#define LCI_TOOLS_INFO_INFO_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lci/base/status.h"

namespace lci::info {

struct backend_info {
  std::string name;
  bool is_usable = false;
  std::string reason;                                      // why not
  std::vector<std::pair<std::string, std::string>> facts;  // name and value
};

struct attribute_info {
  std::string resource;
  std::string name;
  std::string variable;
  std::string values;   // that the variable accepts
  std::string builtin;  // the default without the variable
  std::string value;    // the default in this environment
  bool is_from_environment = false;
  std::string meaning;
};

struct variable_info {
  std::string name;
  std::string values;
  std::string builtin;
  std::string value;  // in this environment; empty: not set
  std::string meaning;
};

struct info {
  std::string version;
  std::vector<backend_info> backends;
  std::vector<attribute_info> attributes;
  std::vector<variable_info> variables;
  std::vector<std::pair<std::string, std::string>> unknown;  // name, and the most similar known one
};

// The attributes, in the order of the header. The error names a variable with a bad value.
base::StatusOr<std::vector<attribute_info>> attributes();
std::vector<variable_info> variables();
// Loads the libraries of the networks.
std::vector<backend_info> backends();
// All of it.
base::StatusOr<info> collect();

std::string as_text(const info& all);
// `job`: the value of a member "job" before the others; empty: there is none.
std::string as_json(const info& all, std::string_view job = "");
// The page docs/configuration.md: attributes and variables with their defaults, the same on every
// host.
std::string as_markdown(const std::vector<attribute_info>& all);

}  // namespace lci::info

#endif  // LCI_TOOLS_INFO_INFO_H_
