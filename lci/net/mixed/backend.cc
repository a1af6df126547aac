#include "lci/net/mixed/backend.h"

#include "lci/base/env.h"
#include "lci/net/mixed/context.h"

namespace lci::net::mixed {

namespace {

base::StatusOr<std::vector<backend_fact>> describe() {
  return std::vector<backend_fact>{{"reach", "shm within a host, ibv or ofi between hosts"}};
}

}  // namespace

// Whether libfabric is there is found when there is a need for it, and is the same on all ranks.
const backend_entry backend = {attr_backend_t::mixed, "mixed",
                               /*preference=*/-1,     [] { return true; },
                               mixed_context::make,   describe};

bool has_host_override() { return base::env_text("LCI_HOSTS").has_value(); }

}  // namespace lci::net::mixed
