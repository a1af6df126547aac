#include "lci/net/ofi/backend.h"

#include "lci/net/ofi/context.h"
#include "lci/net/ofi/library.h"

namespace lci::net::ofi {

// Loading libfabric takes longer than all else that a start does: the registry asks this only if no
// backend that it prefers is there. Which providers there are is asked when a context is made.
const backend_entry backend = {attr_backend_t::ofi, "ofi", /*preference=*/5,
                               [] { return load_library().ok(); }, ofi_context::make};

}  // namespace lci::net::ofi
