#include "lci/net/ofi/backend.h"

#include "lci/base/log.h"
#include "lci/net/ofi/context.h"
#include "lci/net/ofi/library.h"

namespace lci::net::ofi {

namespace {

// Loading libfabric takes longer than all else that a start does: the registry asks this only if no
// backend that it prefers is there. Which providers there are is asked when a context is made.
bool available() {
  const base::Status loaded = load_library();
  if (!loaded.ok()) LCI_LOG(warn, "ofi: ", loaded.message());
  return loaded.ok();
}

}  // namespace

const backend_entry backend = {attr_backend_t::ofi, "ofi", /*preference=*/5, available,
                               ofi_context::make};

}  // namespace lci::net::ofi
