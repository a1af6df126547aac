#include "lci/testing/backend_override/backend_override.h"

#include "lci/net/registry.h"

namespace lci::net {

backend_override::backend_override(const backend_entry& replacement)
    : place_(registered_backend(replacement.id)), original_(place_) {
  place_ = &replacement;
}

backend_override::~backend_override() { place_ = original_; }

}  // namespace lci::net
