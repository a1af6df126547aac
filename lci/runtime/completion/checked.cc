#include "lci/runtime/completion/checked.h"

#include "lci/runtime/core/throw.h"

namespace lci::rt {

[[gnu::cold]] void refuse(comp_t comp, const char* call) {
  if (!is_object(comp)) throw_invalid_argument(call, ": the completion object is empty");
  if (!is_live(*comp.p_impl)) {
    throw_invalid_argument(call, ": the completion object has been freed");
  }
  throw_invalid_argument(call, ": completion object \"", comp.p_impl->attr.name,
                         "\" is of another kind than this call is for");
}

}  // namespace lci::rt
