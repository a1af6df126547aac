#ifndef LCI_RUNTIME_ATTRIBUTES_H_
#define LCI_RUNTIME_ATTRIBUTES_H_

#include "lci/api/attr.hpp"
#include "lci/base/status.h"

namespace lci::rt {

// The built-in defaults of all attributes, overridden by the variables LCI_ATTR_<NAME>. The error
// names the variable, its value, what is accepted, and what the attribute means.
base::StatusOr<global_attr_t> attributes_from_environment();

}  // namespace lci::rt

#endif  // LCI_RUNTIME_ATTRIBUTES_H_
