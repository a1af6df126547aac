#include "lci/net/mixed/context.h"

#include <algorithm>
#include <string>
#include <utility>

#include "lci/base/log.h"
#include "lci/base/status.h"
#include "lci/base/strings.h"
#include "lci/net/exchange.h"
#include "lci/net/ibv/backend.h"
#include "lci/net/mixed/device.h"
#include "lci/net/mixed/names.h"
#include "lci/net/ofi/backend.h"
#include "lci/net/shm/backend.h"
#include "lci/net/shm/wire.h"

namespace lci::net::mixed {

namespace {

// Collective, with the same answer on all ranks.
base::StatusOr<std::unique_ptr<context>> make_far(boot::bootstrap& boot,
                                                  const context_config& config) {
  if (!config.ofi_provider_name.empty()) return ofi::backend.make(boot, config);
  const base::Status usable = ibv::usable(config);
  const auto all = exchange(boot, "mixed-far", std::string(usable.ok() ? "ibv" : "ofi"));
  if (!all.ok()) return all.status();
  if (std::count(all->begin(), all->end(), "ibv") == boot.size()) {
    base::StatusOr<std::unique_ptr<context>> made = ibv::backend.make(boot, config);
    if (made.ok()) return made;
    if (boot.rank() == 0) {
      LCI_LOG(warn, "mixed: through libfabric, since ibv can't join all ranks: ",
              made.status().message());
    }
  } else if (usable.ok()) {
    LCI_LOG(info, "mixed: through libfabric, since other ranks have no RDMA device");
  }
  return ofi::backend.make(boot, config);
}

}  // namespace

static_assert(shm::directory_capacity <= near_bases);

base::StatusOr<std::unique_ptr<context>> mixed_context::make(boot::bootstrap& boot,
                                                             const context_config& config) {
  base::StatusOr<hosts> found = find_hosts(boot);
  if (!found.ok()) return found.status();
  if (found->largest == boot.size()) return shm::backend.make(boot, config);
  if (found->largest == 1) return make_far(boot, config);
  std::unique_ptr<mixed_context> made(new mixed_context(boot, *std::move(found)));
  // The limit is for what an adapter has few of.
  context_config near_config = config;
  near_config.max_registrations = 0;
  base::StatusOr<std::unique_ptr<context>> near = shm::backend.make(made->group_, near_config);
  if (base::Status status = agree(boot, "mixed-near", near.status()); !status.ok()) return status;
  made->near_.reset(static_cast<shm::shm_context*>(near->release()));
  base::StatusOr<std::unique_ptr<context>> far = make_far(boot, config);
  if (!far.ok()) return far.status();  // on all ranks
  made->far_ = *std::move(far);
  LCI_LOG(debug, "rank ", boot.rank(), " reaches ", made->hosts_.neighbors.size(), " of ",
          boot.size(), " ranks through shared memory, the others through ", made->far_->name());
  return std::unique_ptr<context>(std::move(made));
}

std::string mixed_context::description() const {
  return base::StrCat("shm in a host and ", far_->description(), " between hosts");
}

base::StatusOr<std::unique_ptr<device>> mixed_context::make_device(const device_config& config) {
  base::StatusOr<std::unique_ptr<device>> near = near_->make_device(config);
  const std::string name = base::StrCat("mixed-near-", config.uid);
  if (base::Status status = agree(boot_, name, near.status()); !status.ok()) return status;
  base::StatusOr<std::unique_ptr<device>> far = far_->make_device(config);
  if (!far.ok()) return far.status();
  return std::unique_ptr<device>(new mixed_device(hosts_, *std::move(near), *std::move(far)));
}

base::StatusOr<local_region> mixed_context::join_far(local_region near, void* address,
                                                     size_t size) {
  const base::StatusOr<local_region> far = far_->register_memory(address, size);
  if (!far.ok()) return far.status();
  const remote_region name = far_->remote_key(*far);
  if (!has_room(name)) {
    far_->deregister_memory(*far);
    return base::UnimplementedError(
        base::StrCat(far_->name(), " names memory by the address ", base::Hex(name.base),
                     ", which has more than ", near_shift, " bits; LCI_ATTR_BACKEND=", far_->name(),
                     " does without shared memory"));
  }
  near_->rename(near, near_key(name.key));
  return join(near, *far);
}

base::StatusOr<local_region> mixed_context::register_memory(void* address, size_t size) {
  const base::StatusOr<local_region> near = near_->register_memory(address, size);
  if (!near.ok()) return near.status();
  base::StatusOr<local_region> both = join_far(*near, address, size);
  if (!both.ok()) near_->deregister_memory(*near);
  return both;
}

void mixed_context::deregister_memory(local_region region) {
  far_->deregister_memory(far_of(region));
  near_->deregister_memory(near_of(region));
}

base::StatusOr<context::allocation> mixed_context::allocate_memory(size_t size) {
  base::StatusOr<allocation> made = near_->allocate_memory(size);
  if (!made.ok()) return made.status();
  const base::StatusOr<local_region> both = join_far(made->region, made->address, size);
  if (!both.ok()) {
    near_->free_memory(*made);
    return both.status();
  }
  made->region = *both;
  return made;
}

void mixed_context::free_memory(const allocation& freed) {
  far_->deregister_memory(far_of(freed.region));
  near_->free_memory({freed.address, freed.size, near_of(freed.region)});
}

remote_region mixed_context::remote_key(local_region region) const {
  return join(near_->remote_key(near_of(region)), far_->remote_key(far_of(region)));
}

void* mixed_context::map_memory(int rank, remote_region region, size_t size) {
  if (near_rank(rank) < 0) return nullptr;
  return near_->map_memory(near_rank(rank), near_of(region), size);
}

}  // namespace lci::net::mixed
