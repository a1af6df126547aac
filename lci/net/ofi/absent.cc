// Replaces the backend in a build without it (CMake's LCI_WITH_OFI=OFF).
#include "lci/net/ofi/backend.h"

namespace lci::net::ofi {
namespace {

constexpr char reason[] =
    "this build of LCI has no backend ofi (it was configured without libfabric)";

base::StatusOr<std::unique_ptr<context>> refuse(boot::bootstrap&, const context_config&) {
  return base::UnimplementedError(reason);
}

base::StatusOr<std::vector<backend_fact>> describe() { return base::UnimplementedError(reason); }

}  // namespace

// Never the default. `make` returns the reason to a program that selects this backend.
const backend_entry backend = {attr_backend_t::ofi, "ofi",  /*preference=*/-1,
                               [] { return true; }, refuse, describe};

}  // namespace lci::net::ofi
