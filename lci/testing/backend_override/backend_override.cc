#include "lci/testing/backend_override/backend_override.h"

#include "lci/net/registry.h"

namespace lci::net {

backend_override::backend_override(const backend_entry& replacement, attr_backend_t replaced)
    : place_(registered_backend(replaced)), original_(place_) {
  place_ = &replacement;
}

backend_override::~backend_override() { place_ = original_; }

}  // namespace lci::net
