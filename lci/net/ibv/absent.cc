// Replaces the backend in a build without it (CMake's LCI_WITH_IBV=OFF).
#include "lci/net/ibv/backend.h"

namespace lci::net::ibv {
namespace {

constexpr char reason[] =
    "this build of LCI has no backend ibv (it was configured without libibverbs)";

base::StatusOr<std::unique_ptr<context>> refuse(boot::bootstrap&, const context_config&) {
  return base::UnimplementedError(reason);
}

base::StatusOr<std::vector<backend_fact>> describe() { return base::UnimplementedError(reason); }

}  // namespace

base::Status usable(const context_config&) { return base::UnimplementedError(reason); }

// Never the default. `make` returns the reason to a program that selects this backend.
const backend_entry backend = {attr_backend_t::ibv, "ibv",  /*preference=*/-1,
                               [] { return true; }, refuse, describe};

}  // namespace lci::net::ibv
