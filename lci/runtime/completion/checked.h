// The object behind a handle that a call was given.
#ifndef LCI_RUNTIME_COMPLETION_CHECKED_H_
#define LCI_RUNTIME_COMPLETION_CHECKED_H_

#include "lci/api/comp.hpp"
#include "lci/runtime/completion/impl.h"

namespace lci::rt {

// As "synchronizer".
const char* name_of(attr_comp_type_t type);

// Throws std::invalid_argument that says why `call`, which takes objects of the type `needed`,
// can't be made on `comp`. Apart, so that the checks cost a comparison each.
[[noreturn]] void refuse(comp_t comp, const char* call, attr_comp_type_t needed);

inline bool is_object(comp_t comp) { return !comp.is_empty(); }

inline comp_impl_t* checked(comp_t comp, const char* call) {
  if (!is_object(comp) || !is_live(*comp.p_impl)) {
    refuse(comp, call, attr_comp_type_t::custom);
  }
  return comp.p_impl;
}

// It must be of that class of the library (and then has not been freed).
template <class Impl>
Impl* checked(comp_t comp, const char* call) {
  if (!is_object(comp) || !is_of_type(*comp.p_impl, Impl::type)) refuse(comp, call, Impl::type);
  return static_cast<Impl*>(comp.p_impl);
}

}  // namespace lci::rt

#endif  // LCI_RUNTIME_COMPLETION_CHECKED_H_
