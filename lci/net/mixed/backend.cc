#include "lci/net/mixed/backend.h"

#include <utility>

#include "lci/base/env.h"
#include "lci/net/ibv/backend.h"
#include "lci/net/mixed/context.h"
#include "lci/net/ofi/backend.h"
#include "lci/net/shm/backend.h"

namespace lci::net::mixed {

namespace {

base::StatusOr<std::vector<backend_fact>> describe() {
  return std::vector<backend_fact>{{"reach", "shm within a host, ibv or ofi between hosts"}};
}

// Those of the backends that it may use.
std::vector<backend_fact> common(const net_context_attr_t& attr, const device_attr_t& devices) {
  std::vector<backend_fact> all;
  for (const backend_entry* each : {&shm::backend, &ibv::backend, &ofi::backend}) {
    if (each->common == nullptr) continue;
    for (backend_fact& one : each->common(attr, devices)) all.push_back(std::move(one));
  }
  return all;
}

std::vector<variable> variables() {
  return {
      {"LCI_HOSTS", "numbers, as 0,0,1", "",
       "for tests: the number of the host that each rank assumes, repeated for further ranks"},
  };
}

}  // namespace

// Whether libfabric is there is found when there is a need for it, and is the same on all ranks.
const backend_entry backend = {attr_backend_t::mixed,
                               "mixed",
                               /*preference=*/-1,
                               [] { return true; },
                               mixed_context::make,
                               describe,
                               common,
                               variables};

bool has_host_override() { return base::env_text("LCI_HOSTS").has_value(); }

}  // namespace lci::net::mixed
