#ifndef LCI_RUNTIME_BINDINGS_MAKE_COMP_H_
#define LCI_RUNTIME_BINDINGS_MAKE_COMP_H_

#include <utility>

#include "lci/api/comp.hpp"
#include "lci/runtime/bindings/checked_mode.h"
#include "lci/runtime/completion/recorded.h"
#include "lci/runtime/core/rank_state.h"

namespace lci::rt {

// Makes an object of the class, one that records where the runtime does.
template <class Comp, class... Arguments>
comp_t make_comp(const rank_state& runtime, Arguments&&... arguments) {
  comp_impl_t* made;
  if (runtime.record()) {
    made = new recorded<Comp>(runtime.record(), std::forward<Arguments>(arguments)...);
  } else {
    made = new Comp(std::forward<Arguments>(arguments)...);
  }
  if (__builtin_expect(is_checked_mode(), 0)) note_allocated(*made);
  return made;
}

}  // namespace lci::rt

#endif  // LCI_RUNTIME_BINDINGS_MAKE_COMP_H_
