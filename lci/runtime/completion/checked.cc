#include "lci/runtime/completion/checked.h"

#include <stdexcept>

#include "lci/base/strings.h"

namespace lci::rt {

[[gnu::cold]] void refuse(comp_t comp, const char* call) {
  if (!is_object(comp)) {
    throw std::invalid_argument(base::StrCat("lci: ", call, ": the completion object is empty"));
  }
  if (!is_live(*comp.p_impl)) {
    throw std::invalid_argument(
        base::StrCat("lci: ", call, ": the completion object has been freed"));
  }
  throw std::invalid_argument(base::StrCat("lci: ", call, ": completion object \"",
                                           comp.p_impl->attr.name,
                                           "\" is of another kind than this call is for"));
}

}  // namespace lci::rt
