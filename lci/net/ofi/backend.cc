#include "lci/net/ofi/backend.h"

#include "lci/base/strings.h"
#include "lci/net/ofi/context.h"
#include "lci/net/ofi/library.h"
#include "lci/net/ofi/provider.h"

namespace lci::net::ofi {

namespace {

// Loading libfabric takes longer than everything else at start, so the registry calls this only if
// no preferred backend is available. Providers are listed when a context is made.
bool available() { return load_library().ok(); }

// Where ranks of this host have their endpoints if other hosts take part: one of the addresses, which
// depends on theirs, or else the interface that the provider lists first.
backend_fact places_of(const provider_offer& offer, const provider& found) {
  if (offer.addresses.empty()) return {"interface", found.place()};
  std::vector<std::string> addresses;
  for (const offered_address& one : offer.addresses) addresses.push_back(one.address);
  return {"addresses for other hosts", base::StrJoin(addresses, ", ")};
}

base::StatusOr<std::vector<backend_fact>> describe() {
  const base::StatusOr<std::vector<provider_offer>> listed = list_providers({});
  if (!listed.ok()) return listed.status();
  const rank_offer own = {0, *listed};
  const base::StatusOr<std::string> chosen = choose_common({own});
  if (!chosen.ok()) return chosen.status();
  wanted_provider wanted;
  wanted.name = *chosen;
  const base::StatusOr<provider> found = find_provider(wanted);
  if (!found.ok()) return found.status();
  return std::vector<backend_fact>{
      {"reach", "ranks of any hosts"},
      {"providers", base::StrJoin(names_of(*listed), ", ")},
      {"provider", found->name()},
      places_of(*own.find(*chosen), *found),
      {"puts and gets", describe(found->rma)},
      {"largest message in bytes", describe_size(found->info->ep_attr->max_msg_size)}};
}

// The sizes bound the packets that the receives of all ranks have room for.
std::vector<backend_fact> common(const net_context_attr_t& attr, const device_attr_t& devices) {
  return {{"ofi_provider_name", attr.ofi_provider_name},
          {"ofi_gather_size", base::StrCat(devices.ofi_gather_size)},
          {"ofi_eager_size", base::StrCat(devices.ofi_eager_size)}};
}

std::vector<variable> variables() {
  return {
      {"LCI_OFI_RMA", "auto, native, asked, messages", "auto",
       "ofi: whether the provider executes puts and gets, the target does so on request, or their "
       "bytes "
       "travel in messages; auto: by the provider"},
      {"LCI_OFI_DOMAIN", "auto, shared", "auto",
       "ofi: auto: a domain for each device; shared: one for all, and memory is registered once"},
  };
}

}  // namespace

const backend_entry backend = {attr_backend_t::ofi, "ofi",    /*preference=*/5, available,
                               ofi_context::make,   describe, common,           variables};

}  // namespace lci::net::ofi
