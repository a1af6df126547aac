#include "lci/net/ibv/regions.h"

#include <cerrno>

#include "lci/base/log.h"
#include "lci/base/reserve.h"
#include "lci/base/strings.h"

namespace lci::net::ibv {
namespace {

constexpr int all_access =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

// Backs empty registrations: peers name them but never access a byte.
unsigned char nothing[1];

}  // namespace

paging supported_paging(const verbs& library, const port& of, const paging& wanted) {
  if (wanted.strategy == attr_ibv_odp_strategy_t::none) return {};
  ibv_device_attr_ex limits = {};
  const bool implicit = wanted.strategy == attr_ibv_odp_strategy_t::implicit_odp;
  constexpr uint32_t needed = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ;
  const uint64_t general = IBV_ODP_SUPPORT | (implicit ? IBV_ODP_SUPPORT_IMPLICIT : 0);
  if (library.query_device_ex(of.context.get(), &limits) != 0 ||
      (limits.odp_caps.general_caps & general) != general ||
      (limits.odp_caps.per_transport_caps.rc_odp_caps & needed) != needed) {
    LCI_LOG(warn, "ibv: ", of.name, " has no ", implicit ? "implicit " : "",
            "on-demand paging (attribute ibv_odp_strategy); memory is pinned instead");
    return {};
  }
  return wanted;
}

region_table::region_table(const verbs& library, const port& of, const paging& by)
    : verbs_(library), domain_(of.domain.get()), paging_(by) {
  if (by.strategy != attr_ibv_odp_strategy_t::implicit_odp) return;
  all_ = library.reg_mr(domain_, nullptr, SIZE_MAX, all_access | IBV_ACCESS_ON_DEMAND);
  if (all_ == nullptr) {
    LCI_LOG(warn, "ibv: ", of.name, " refuses to register all memory (implicit_odp): ",
            failure("ibv_reg_mr", errno).message(), "; each region is registered by itself");
  }
}

region_table::~region_table() {
  for (const auto& each : owned_) {
    if (each->registration != nullptr) verbs_.dereg_mr(each->registration);
  }
  if (all_ != nullptr) verbs_.dereg_mr(all_);
}

void region_table::abandon() {
  for (const auto& each : owned_) each->registration = nullptr;
  all_ = nullptr;
}

base::StatusOr<ibv_mr*> region_table::enter(void* address, size_t size) const {
  if (all_ != nullptr) return all_;
  const bool paged = paging_.strategy != attr_ibv_odp_strategy_t::none && size > 0;
  const int access = all_access | (paged ? IBV_ACCESS_ON_DEMAND : 0);
  ibv_mr* made = size == 0 ? verbs_.reg_mr(domain_, nothing, sizeof(nothing), access)
                           : verbs_.reg_mr(domain_, address, size, access);
  if (made == nullptr) return failure(base::StrCat("registering ", size, " bytes"), errno);
  return made;
}

// Only advice: a failure changes nothing but the time of later accesses.
void region_table::prefetch(const ibv_mr& of, void* address, size_t size) const {
  if (paging_.strategy == attr_ibv_odp_strategy_t::none || size == 0) return;
  ibv_advise_mr_advice advice = IBV_ADVISE_MR_ADVICE_PREFETCH;
  switch (paging_.prefetch) {
    case attr_ibv_prefetch_strategy_t::none:
      return;
    case attr_ibv_prefetch_strategy_t::prefetch:
      break;
    case attr_ibv_prefetch_strategy_t::prefetch_write:
      advice = IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;
      break;
    case attr_ibv_prefetch_strategy_t::prefetch_no_fault:
      advice = IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT;
      break;
  }
  auto* at = static_cast<unsigned char*>(address);
  while (size > 0) {
    const size_t part = size < (size_t{1} << 31) ? size : size_t{1} << 31;  // fits 32 bits
    ibv_sge bytes = {reinterpret_cast<uintptr_t>(at), static_cast<uint32_t>(part), of.lkey};
    verbs_.advise_mr(domain_, advice, 0, &bytes, 1);
    at += part;
    size -= part;
  }
}

base::StatusOr<local_region> region_table::open(void* address, size_t size) {
  // Outside the lock: pinning the memory takes long.
  const base::StatusOr<ibv_mr*> made = enter(address, size);
  if (!made.ok()) return made.status();
  prefetch(**made, address, size);
  const std::lock_guard<std::mutex> guard(mutex_);
  if (free_.empty()) {
    base::reserve_room(&free_, owned_.size() + 1);  // so that close can't fail
    const auto index = static_cast<uint32_t>(owned_.size());
    owned_.push_back(std::make_unique<entry>());
    entries_.set(index, owned_.back().get());
    free_.push_back(index);
  }
  const uint32_t index = free_.back();
  free_.pop_back();
  entry& opened = *owned_[index];
  opened.local_key = (*made)->lkey;
  opened.remote_key = (*made)->rkey;
  opened.address = size == 0 ? static_cast<void*>(nothing) : address;
  opened.registration = *made == all_ ? nullptr : *made;
  return local_region{index + uint64_t{1}};
}

void region_table::close(local_region closed) {
  ibv_mr* registration = nullptr;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    const auto index = static_cast<uint32_t>(closed.handle - 1);
    registration = owned_[index]->registration;
    owned_[index]->registration = nullptr;
    free_.push_back(index);
  }
  if (registration != nullptr) verbs_.dereg_mr(registration);
}

}  // namespace lci::net::ibv
