#include "lci/runtime/completion/checked.h"

#include <cstddef>
#include <iterator>

#include "lci/runtime/core/throw.h"

namespace lci::rt {
namespace {

// By attr_comp_type_t.
constexpr const char* names_of_types[] = {"synchronizer", "counter", "completion queue",
                                          "handler",      "graph",   "custom completion object",
                                          "signal"};
static_assert(std::size(names_of_types) == static_cast<size_t>(attr_comp_type_t::signal) + 1);

}  // namespace

const char* name_of(attr_comp_type_t type) {
  const auto number = static_cast<size_t>(type);
  // A program may give objects of its own any number.
  return number < std::size(names_of_types) ? names_of_types[number]
                                            : name_of(attr_comp_type_t::custom);
}

[[gnu::cold]] void refuse(comp_t comp, const char* call, attr_comp_type_t needed) {
  if (!is_object(comp)) throw_invalid_argument(call, ": the completion object is empty");
  if (!is_live(*comp.p_impl)) {
    throw_invalid_argument(call, ": the completion object has been freed");
  }
  throw_invalid_argument(call, ": completion object \"", comp.p_impl->attr.name, "\" is a ",
                         name_of(comp.p_impl->attr.comp_type), ", not a ", name_of(needed));
}

}  // namespace lci::rt
