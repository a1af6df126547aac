#include "lci/runtime/device/checked_call.h"

#include "lci/runtime/check/checker.h"

namespace lci::rt {

[[gnu::cold]] void checked_call::enter(const char* name) const {
  watched_->state.checks()->enter(this, watched_, name);
}

[[gnu::cold]] void checked_call::leave() const { watched_->state.checks()->leave(this); }

}  // namespace lci::rt
