#include "lci/net/ibv/context.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "lci/base/strings.h"
#include "lci/net/exchange.h"
#include "lci/net/ibv/device.h"

namespace lci::net::ibv {
namespace {

std::string describe(const port_address& address) {
  if (address.by_gid == 0) return base::StrCat("LID ", address.lid);
  std::string text = "GID ";
  for (size_t i = 0; i < sizeof(address.gid); i += 2) {
    const uint32_t part = uint32_t{address.gid[i]} << 8 | address.gid[i + 1];
    base::StrAppend(&text, i == 0 ? "" : ":", base::Hex(part));
  }
  return text;
}

}  // namespace

rdma_context::rdma_context(const verbs& library, boot::bootstrap& boot,
                           const context_config& config)
    : context(config.max_registrations), verbs_(library), boot_(boot), config_(config) {}

base::StatusOr<std::unique_ptr<context>> rdma_context::make(boot::bootstrap& boot,
                                                            const context_config& config) {
  const base::StatusOr<verbs>& loaded = load_verbs();
  if (!loaded.ok()) return agree(boot, "ibv-ranks", loaded.status());
  return make_with(*loaded, boot, config);
}

base::StatusOr<std::unique_ptr<context>> rdma_context::make_with(const verbs& library,
                                                                 boot::bootstrap& boot,
                                                                 const context_config& config) {
  std::unique_ptr<rdma_context> made(new rdma_context(library, boot, config));
  base::StatusOr<port> opened = open_port(library, config);
  if (opened.ok()) made->port_ = *std::move(opened);
  if (base::Status status = made->exchange_addresses(opened.status()); !status.ok()) return status;
  const paging by = supported_paging(library, made->port_,
                                     {config.ibv_odp_strategy, config.ibv_prefetch_strategy});
  made->regions_ = std::make_unique<region_table>(library, made->port_, by);
  return std::unique_ptr<context>(std::move(made));
}

std::string rdma_context::description() const {
  return base::StrCat("ibv (port ", port_.name, ", ", describe(port_.address()), ")");
}

// Exchanges the addresses of all ranks and verifies that the ranks fit together.
base::Status rdma_context::exchange_addresses(const base::Status& opened) {
  const introduction local{wire_version, port_.address()};
  const auto all =
      exchange(boot_, "ibv-ranks",
               opened.ok() ? base::StatusOr<std::string>(std::string(as_bytes(local))) : opened);
  if (!all.ok()) return all.status();
  for (size_t r = 0; r < all->size(); ++r) {
    introduction remote = {};
    const std::string& bytes = (*all)[r];
    if (bytes.size() == sizeof(remote)) std::memcpy(&remote, bytes.data(), sizeof(remote));
    if (remote.version != wire_version) {
      return base::FailedPreconditionError(base::StrCat(
          "rank ", r, " and rank ", rank(),
          " have different versions of the ibv backend; start all ranks with the same program"));
    }
    if (remote.address.link_layer != local.address.link_layer ||
        remote.address.by_gid != local.address.by_gid) {
      return base::FailedPreconditionError(
          base::StrCat("rank ", r, " (", describe(remote.address), ") and rank ", rank(), " (",
                       describe(local.address), " of ", port_.name,
                       ") have ports of different kinds; attribute device_name picks others"));
    }
    addresses_.push_back(remote.address);
  }
  ring_ = monitor_ring(addresses_);
  return agree(boot_, "ibv-routes", find_routes());
}

// Makes the address handles. They need the same route resolution as connections, so an unreachable
// rank is found here.
base::Status rdma_context::find_routes() {
  std::map<std::string, ibv_ah*> found;
  for (size_t r = 0; r < addresses_.size(); ++r) {
    ibv_ah*& handle = found[std::string(as_bytes(addresses_[r]))];
    if (handle == nullptr) {
      ibv_ah_attr path = port_.path_to(addresses_[r]);
      routes_.push_back(own(verbs_.create_ah(port_.domain.get(), &path), verbs_.destroy_ah));
      handle = routes_.back().get();
    }
    if (handle == nullptr) {
      return failure(base::StrCat("rank ", rank(), " (", port_.name, ") has no route to rank ", r,
                                  " (", describe(addresses_[r]), ")"),
                     errno);
    }
    address_handles_.push_back(handle);
  }
  return base::OkStatus();
}

rdma_context::~rdma_context() {
  if (is_owner_process()) return;
  // In a forked child, the kernel's objects belong to the parent.
  if (regions_ != nullptr) regions_->abandon();
  for (owned<ibv_ah>& each : routes_) static_cast<void>(each.release());
  static_cast<void>(port_.domain.release());
  static_cast<void>(port_.context.release());
}

void rdma_context::add_on_demand(rdma_device& added) {
  const std::lock_guard<ds::spinlock> guard(on_demand_lock_);
  on_demand_devices_.push_back(&added);
}

void rdma_context::remove_on_demand(rdma_device& removed) {
  const std::lock_guard<ds::spinlock> guard(on_demand_lock_);
  on_demand_devices_.erase(
      std::remove(on_demand_devices_.begin(), on_demand_devices_.end(), &removed),
      on_demand_devices_.end());
}

void rdma_context::answer_datagrams_except(const rdma_device& one) {
  if (!on_demand_lock_.try_lock()) return;
  const std::lock_guard<ds::spinlock> guard(on_demand_lock_, std::adopt_lock);
  for (rdma_device* each : on_demand_devices_) {
    if (each != &one) each->answer_datagrams();
  }
}

base::StatusOr<std::unique_ptr<device>> rdma_context::make_device(const device_config& config) {
  return rdma_device::make(*this, boot_, config);
}

}  // namespace lci::net::ibv
