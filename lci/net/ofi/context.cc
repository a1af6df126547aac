#include "lci/net/ofi/context.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "lci/base/interfaces.h"
#include "lci/base/strings.h"
#include "lci/base/system.h"
#include "lci/net/exchange.h"
#include "lci/net/ofi/device.h"
#include "lci/net/ofi/offers.h"
#include "lci/net/ofi/wire.h"

namespace lci::net::ofi {
namespace {

// Exchanged when a context is made, followed by the rank's providers (offers.h).
struct introduction {
  uint64_t version;
  uint64_t domain;      // equal for processes that can see each other
  uint64_t interfaces;  // equal for processes that have the same network interfaces
  int64_t pid;
  uint64_t start_time;
  uint64_t image;
};

introduction introduce_ourselves() {
  const boot::process_id self = boot::this_process();
  return {wire_version,
          base::Fnv1a(boot::process_domain()),
          base::Fnv1a(boot::network_domain()),
          self.pid,
          self.start_time,
          self.image};
}

}  // namespace

base::StatusOr<std::unique_ptr<context>> ofi_context::make(boot::bootstrap& boot,
                                                           const context_config& config) {
  const base::StatusOr<uint64_t> first_key = base::random_number();
  if (!first_key.ok()) return first_key.status();
  std::unique_ptr<ofi_context> made(new ofi_context(boot, *first_key, config.max_registrations));
  wanted_provider wanted;
  wanted.name = config.ofi_provider_name;
  wanted.interface = config.device_name;

  const introduction local = introduce_ourselves();
  const auto introduce = [&]() -> base::StatusOr<std::string> {
    const base::StatusOr<std::vector<provider_offer>> providers = list_providers(wanted);
    if (!providers.ok()) return providers.status();
    return base::StrCat(std::string_view(reinterpret_cast<const char*>(&local), sizeof(local)),
                        encode(*providers));
  };
  const auto all = exchange(boot, "ofi-ranks", introduce());
  if (!all.ok()) return all.status();
  std::vector<rank_offer> offers;
  for (size_t r = 0; r < all->size(); ++r) {
    const std::string& bytes = (*all)[r];
    introduction remote = {};
    if (bytes.size() >= sizeof(remote)) std::memcpy(&remote, bytes.data(), sizeof(remote));
    if (remote.version != wire_version) {
      return base::FailedPreconditionError(base::StrCat(
          "rank ", r, " and rank ", boot.rank(),
          " have different versions of the ofi backend; start all ranks with the same program"));
    }
    made->processes_.add({remote.pid, remote.start_time, remote.image},
                         remote.domain != local.domain);
    base::StatusOr<std::vector<provider_offer>> providers =
        decode(std::string_view(bytes).substr(sizeof(remote)));
    if (!providers.ok())
      return base::WithPrefix(base::StrCat("rank ", r, ": "), providers.status());
    offers.push_back({remote.interfaces, *std::move(providers)});
  }
  const base::StatusOr<std::string> chosen = choose_common(offers);
  if (!chosen.ok()) return chosen.status();  // on all ranks
  wanted.name = *chosen;
  wanted.one_host = std::all_of(offers.begin(), offers.end(), [&](const rank_offer& rank) {
    return rank.interfaces == local.interfaces;
  });
  base::Status status;
  if (!wanted.one_host) {
    base::StatusOr<std::string> address =
        choose_address(offers, *chosen, boot.rank(), base::source_address);
    status = address.status();
    if (address.ok()) wanted.address = *std::move(address);
  }
  if (status.ok()) status = made->open(wanted);
  if (status = agree(boot, "ofi-open", status); !status.ok()) return status;
  return std::unique_ptr<context>(std::move(made));
}

base::Status ofi_context::open(const wanted_provider& wanted) {
  base::StatusOr<provider> found = find_provider(wanted);
  if (!found.ok()) return found.status();
  provider_ = *std::move(found);
  const size_t key_size = provider_.info->domain_attr->mr_key_size;
  regions_.set_key_bytes(provider_.rma == rma_mode::native
                             ? key_size
                             : std::min(key_size, region_table::name_key_bytes));
  fid_fabric* fabric = nullptr;
  if (const int code = libfabric().fabric(provider_.info->fabric_attr, &fabric, nullptr);
      code != 0) {
    return failure(base::StrCat("opening the fabric of ", provider_.name()), code);
  }
  fabric_.reset(fabric, close_fid<fid_fabric>());
  if (provider_.shares_domain) {
    base::StatusOr<std::unique_ptr<domain>> shared =
        domain::open(*fabric_, provider_, registrations_);
    if (!shared.ok()) return shared.status();
    shared_domain_ = *std::move(shared);
    if (base::Status status = add_domain(*shared_domain_); !status.ok()) return status;
  }
  return base::OkStatus();
}

std::string ofi_context::description() const {
  return base::StrCat("ofi (provider ", provider_.name(), " on ", provider_.info->domain_attr->name,
                      ", puts and gets ", describe(provider_.rma), ")");
}

ofi_context::~ofi_context() {
  if (is_owner_process()) {
    free_kept(/*all=*/true);
    return;
  }
  // In a forked child, libfabric's objects belong to the parent.
  static_cast<void>(shared_domain_.release());
  static_cast<void>(new std::shared_ptr<fid_fabric>(std::move(fabric_)));
}

base::Status ofi_context::add_domain(domain& added) {
  const std::lock_guard<std::mutex> guard(mutex_);
  base::Status status;
  regions_.for_each([&](const region_table::region& open) {
    if (status.ok()) status = added.add(open);
  });
  if (status.ok()) domains_.push_back(&added);
  return status;
}

void ofi_context::remove_domain(domain& removed) {
  const std::lock_guard<std::mutex> guard(mutex_);
  domains_.erase(std::remove(domains_.begin(), domains_.end(), &removed), domains_.end());
}

base::StatusOr<local_region> ofi_context::register_memory(void* address, size_t size) {
  const std::lock_guard<std::mutex> guard(mutex_);
  region_table::region& opened = regions_.open(address, size);
  for (size_t i = 0; i < domains_.size(); ++i) {
    base::Status status = domains_[i]->add(opened);
    if (status.ok()) continue;
    while (i > 0) domains_[--i]->remove(opened.index);
    regions_.close(opened);
    return status;
  }
  return region_table::local(opened);
}

void ofi_context::deregister_memory(local_region region) {
  const std::lock_guard<std::mutex> guard(mutex_);
  region_table::region& closed = regions_.at(region);
  for (domain* each : domains_) each->remove(closed.index);
  regions_.close(closed);
}

// A peer's put or get may be under way in the provider. Without the memory, the provider would break
// the connection to that peer. The memory is kept until a later call finds that it is not used.
void ofi_context::free_memory(const allocation& freed) {
  regions_.refuse(regions_.at(freed.region));
  {
    const std::lock_guard<std::mutex> guard(kept_mutex_);
    kept_.push_back(freed);
  }
  free_kept(/*all=*/false);
}

void ofi_context::free_kept(bool all) {
  const std::lock_guard<std::mutex> guard(kept_mutex_);
  const auto in_use = [&](const allocation& kept) {
    return !all && regions_.at(kept.region).accesses.load(std::memory_order_acquire) != 0;
  };
  const auto unused = std::partition(kept_.begin(), kept_.end(), in_use);
  for (auto each = unused; each != kept_.end(); ++each) context::free_memory(*each);
  kept_.erase(unused, kept_.end());
}

remote_region ofi_context::remote_key(local_region region) const {
  const region_table::region& open = regions_.at(region);
  if (provider_.rma != rma_mode::native) return region_table::remote(open);
  const uint64_t base =
      (provider_.mr_mode() & FI_MR_VIRT_ADDR) != 0 ? reinterpret_cast<uintptr_t>(open.address) : 0;
  return {base, shared_domain_ == nullptr ? open.key : shared_domain_->key(open.index)};
}

base::StatusOr<std::unique_ptr<device>> ofi_context::make_device(const device_config& config) {
  return ofi_device::make(*this, boot_, config);
}

}  // namespace lci::net::ofi
