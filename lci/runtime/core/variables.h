// Describes the environment variables that the library reads, and finds those that it does not.
#ifndef LCI_RUNTIME_CORE_VARIABLES_H_
#define LCI_RUNTIME_CORE_VARIABLES_H_

#include <string>
#include <string_view>
#include <vector>

#include "lci/net/backend.h"

namespace lci::rt {

using net::variable;

// Every variable LCI_... that the library reads, except LCI_ATTR_<NAME>, in the order in which the
// documentation lists them.
const std::vector<variable>& variables();

// A variable of the environment whose name begins with "LCI_" and that the library does not read.
struct unknown_variable {
  std::string name;
  std::string nearest;  // the name most like it of those that are read; empty: none is similar
};

// Those of `environment`, a list as environ(7) describes it. Variables with which installations
// locate a package, such as LCI_ROOT and LCI_DIR, are not among them.
std::vector<unknown_variable> unknown_variables(const char* const* environment);

// Logs a warning for each of them, of this process's environment.
void warn_of_unknown_variables();

}  // namespace lci::rt

#endif  // LCI_RUNTIME_CORE_VARIABLES_H_
