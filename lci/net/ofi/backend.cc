#include "lci/net/ofi/backend.h"

#include "lci/net/ofi/context.h"

namespace lci::net::ofi {

// It is there if the program could start. Whether it has a provider is asked only of who uses it:
// looking takes longer than all else that a start does.
const backend_entry backend = {attr_backend_t::ofi, "ofi", /*preference=*/5, [] { return true; },
                               ofi_context::make};

}  // namespace lci::net::ofi
