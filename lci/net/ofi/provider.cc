#include "lci/net/ofi/provider.h"

#include <netinet/in.h>
#include <rdma/fi_errno.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "lci/base/env.h"
#include "lci/base/error_text.h"
#include "lci/base/interfaces.h"
#include "lci/base/strings.h"
#include "lci/base/system.h"
#include "lci/net/ofi/immediate.h"
#include "lci/net/signal_actions.h"

namespace lci::net::ofi {
namespace {

constexpr uint32_t api_version = FI_VERSION(1, 14);

base::StatusOr<bool> read_sharing() {
  static constexpr base::enum_name<int> accepted[] = {{"auto", 0}, {"shared", 1}};
  const base::StatusOr<int> shared = base::env_enum<int>("LCI_OFI_DOMAIN", 0, accepted);
  if (!shared.ok()) return shared.status();
  return *shared != 0;
}

base::StatusOr<rma_mode> read_mode(rma_mode by_itself) {
  static constexpr base::enum_name<int> accepted[] = {
      {"auto", -1},
      {"native", static_cast<int>(rma_mode::native)},
      {"asked", static_cast<int>(rma_mode::asked)},
      {"messages", static_cast<int>(rma_mode::messages)}};
  const base::StatusOr<int> mode = base::env_enum<int>("LCI_OFI_RMA", -1, accepted);
  if (!mode.ok()) return mode.status();
  return *mode < 0 ? by_itself : static_cast<rma_mode>(*mode);
}

info_ptr make_hints(const wanted_provider& wanted) {
  info_ptr hints(libfabric().dupinfo(nullptr));
  if (hints == nullptr) return hints;
  hints->ep_attr->type = FI_EP_RDM;
  hints->caps = FI_MSG;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->tx_attr->msg_order = FI_ORDER_SAS;
  hints->rx_attr->msg_order = FI_ORDER_SAS;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
  // A send of the provider sockets completes when the receiver has acknowledged it. With automatic
  // progress, a thread of the provider does that while the program does not poll.
  hints->domain_attr->data_progress =
      core_of(wanted.name) == "sockets" ? FI_PROGRESS_AUTO : FI_PROGRESS_MANUAL;
  hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_ENDPOINT;
  // Freed by fi_freeinfo.
  if (!wanted.name.empty()) hints->fabric_attr->prov_name = strdup(wanted.name.c_str());
  return hints;
}

int64_t ask(const fi_info& hints, info_ptr* found) {
  const signal_actions kept;
  fi_info* list = nullptr;
  const int code = libfabric().getinfo(api_version, nullptr, nullptr, 0, &hints, &list);
  found->reset(list);
  return code;
}

bool is_internet(const fi_info& info) {
  return info.addr_format == FI_SOCKADDR_IN || info.addr_format == FI_SOCKADDR_IN6;
}

// Empty if it has no IP address.
std::string source_of(const fi_info& info) {
  if (!is_internet(info) || info.src_addr == nullptr) return "";
  return base::address_text(*static_cast<const sockaddr*>(info.src_addr));
}

bool is_loopback(const fi_info& info) {
  return is_internet(info) && info.src_addr != nullptr &&
         base::is_loopback(*static_cast<const sockaddr*>(info.src_addr));
}

bool is_link_local(const fi_info& info) {
  return info.addr_format == FI_SOCKADDR_IN6 && info.src_addr != nullptr &&
         IN6_IS_ADDR_LINKLOCAL(&static_cast<const sockaddr_in6*>(info.src_addr)->sin6_addr);
}

// Smaller is better. Interfaces of equal distance keep libfabric's order.
int distance(const fi_info& info, const wanted_provider& wanted) {
  // A GID, listed in addition to the IP addresses of the same adapter. It does not work over
  // Ethernet.
  if (info.addr_format == FI_SOCKADDR_IB) return 4;
  if (!is_internet(info)) return 0;
  if (is_link_local(info)) return 5;  // unreachable without an interface number
  const bool fits = wanted.address.empty()
                        ? !wanted.interface.empty() || is_loopback(info) == wanted.one_host
                        : source_of(info) == wanted.address;
  return (fits ? 0 : 2) + (info.addr_format == FI_SOCKADDR_IN ? 0 : 1);
}

// The hints do not name the interface: layered providers (ofi_rxm) ignore it.
bool is_on(const fi_info& info, const std::string& interface) {
  return interface.empty() ||
         (info.domain_attr->name != nullptr && interface == info.domain_attr->name);
}

void add_once(const std::string& name, std::vector<std::string>* list) {
  if (std::find(list->begin(), list->end(), name) == list->end()) list->push_back(name);
}

// The addresses of this host that other hosts may reach.
std::vector<base::interface_address> list_reachable() {
  std::vector<base::interface_address> all = base::list_interface_addresses();
  all.erase(std::remove_if(all.begin(), all.end(),
                           [](const auto& one) {
                             return one.is_loopback || one.is_link_local || !one.has_carrier;
                           }),
            all.end());
  return all;
}

// Adds the address of `info`, if it is one of these.
void add_address(const fi_info& info, const std::vector<base::interface_address>& reachable,
                 provider_offer* offer) {
  const std::string address = source_of(info);
  const auto same = [&](const auto& one) { return one.address == address; };
  const auto found = std::find_if(reachable.begin(), reachable.end(), same);
  if (found == reachable.end() ||
      std::any_of(offer->addresses.begin(), offer->addresses.end(), same)) {
    return;
  }
  offer->addresses.push_back({address, found->network});
}

// IPv4 before IPv6, else in libfabric's order, which has faster interfaces before slower ones.
void order_addresses(provider_offer* offer) {
  std::stable_partition(offer->addresses.begin(), offer->addresses.end(),
                        [](const auto& one) { return !base::StrContains(one.address, ':'); });
  if (offer->addresses.size() > max_offered_addresses) {
    offer->addresses.resize(max_offered_addresses);
  }
}

// A copy of the best entry of a list.
info_ptr pick(const fi_info& list, const wanted_provider& wanted) {
  const fi_info* best = nullptr;
  for (const fi_info* info = &list; info != nullptr; info = info->next) {
    if (!wanted.name.empty() && !names(wanted.name, info->fabric_attr->prov_name)) continue;
    if (!is_on(*info, wanted.interface)) continue;
    // The first name is the best: other layerings of the same core come later.
    if (best == nullptr ||
        (std::strcmp(info->fabric_attr->prov_name, best->fabric_attr->prov_name) == 0 &&
         distance(*info, wanted) < distance(*best, wanted))) {
      best = info;
    }
  }
  return info_ptr(best == nullptr ? nullptr : libfabric().dupinfo(best));
}

// Sets a random name for the file of the provider shm in /dev/shm. By default, the provider uses
// the process number: a killed process leaves its file behind, and a later process with the same
// number could not use the name.
base::Status name_uniquely(fi_info* info) {
  const base::StatusOr<uint64_t> random = base::random_number();
  if (!random.ok()) return random.status();
  const std::string name = base::StrCat("fi_shm://lci-", base::Hex(*random));
  std::free(info->src_addr);
  info->src_addr = strdup(name.c_str());  // freed by fi_freeinfo
  info->src_addrlen = name.size() + 1;
  return base::OkStatus();
}

}  // namespace

bool provider::writes_latency_critical() const {
  constexpr int otherwise_named = FI_MR_VIRT_ADDR | FI_MR_PROV_KEY;
  return rma == rma_mode::asked && (mr_mode() & otherwise_named) == 0 &&
         completes_in_order(name()) && immediate_layout(info->domain_attr->cq_data_size).fits();
}

base::Status failure(std::string_view what, int64_t code) {
  // Providers give several reasons when no descriptor is left.
  return base::UnavailableError(
      base::StrCat("libfabric: ", what, ": ", describe(code), base::descriptor_hint()));
}

std::string provider::place() const {
  const std::string address = source_of(*info);
  const char* interface = info->domain_attr->name;
  if (address.empty() || interface == nullptr) return interface == nullptr ? address : interface;
  return base::StrCat(address, " on ", interface);
}

std::string provider::address_of(std::string_view endpoint_name) const {
  sockaddr_storage address = {};
  if (!is_internet(*info) || endpoint_name.size() > sizeof(address)) return "";
  std::memcpy(&address, endpoint_name.data(), endpoint_name.size());
  return base::address_text(reinterpret_cast<const sockaddr&>(address));
}

base::StatusOr<std::vector<provider_offer>> list_providers(const wanted_provider& wanted) {
  if (base::Status status = load_library(); !status.ok()) return status;
  info_ptr hints = make_hints(wanted);
  if (hints == nullptr) return base::ResourceExhaustedError("no memory");
  hints->domain_attr->mr_mode |= FI_MR_PROV_KEY;
  info_ptr list;
  const int64_t code = ask(*hints, &list);
  const std::vector<base::interface_address> reachable = list_reachable();
  std::vector<provider_offer> found;
  std::vector<std::string> interfaces;
  for (const fi_info* info = list.get(); info != nullptr; info = info->next) {
    const std::string name = info->fabric_attr->prov_name;
    if (!wanted.name.empty() && !names(wanted.name, name)) continue;
    if (wanted.name.empty() && !is_mature(name, info->fabric_attr->prov_version)) continue;
    if (info->domain_attr->name != nullptr) add_once(info->domain_attr->name, &interfaces);
    if (!is_on(*info, wanted.interface)) continue;
    auto offer = std::find_if(found.begin(), found.end(),
                              [&](const auto& one) { return one.provider == name; });
    if (offer == found.end()) offer = found.insert(found.end(), {name, {}});
    add_address(*info, reachable, &*offer);
  }
  for (provider_offer& offer : found) order_addresses(&offer);
  if (!found.empty()) return found;
  return base::UnavailableError(base::StrCat(
      "libfabric has no provider of reliable datagrams with messages",
      wanted.name.empty() ? "" : base::StrCat(" named \"", wanted.name, "\" (ofi_provider_name)"),
      wanted.interface.empty()
          ? ""
          : base::StrCat(" on \"", wanted.interface, "\" (device_name), only on ",
                         interfaces.empty() ? "none" : base::StrJoin(interfaces, ", ")),
      code == 0 ? "" : base::StrCat(": ", describe(code)),
      "; fi_info -t FI_EP_RDM shows those there are"));
}

base::StatusOr<provider> find_provider(const wanted_provider& wanted) {
  if (base::Status status = load_library(); !status.ok()) return status;
  const base::StatusOr<rma_mode> mode = read_mode(preferred_mode(wanted.name));
  if (!mode.ok()) return mode.status();
  const base::StatusOr<bool> shared = read_sharing();
  if (!shared.ok()) return shared.status();
  struct attempt {
    rma_mode rma;
    bool provider_keys;
  };
  // The first attempt that the provider accepts is used. The side that chooses the keys
  // matters only where peers have to know them beforehand.
  static constexpr attempt attempts[] = {{rma_mode::native, false},
                                         {rma_mode::native, true},
                                         {rma_mode::asked, true},
                                         {rma_mode::messages, true}};
  int64_t code = -FI_ENODATA;
  for (const attempt& tried : attempts) {
    if (tried.rma < *mode) continue;
    info_ptr hints = make_hints(wanted);
    if (hints == nullptr) return base::ResourceExhaustedError("no memory");
    if (tried.rma != rma_mode::messages) hints->caps |= FI_RMA;
    if (tried.rma == rma_mode::asked) {
      // Written bytes arrive before the reply that reports them.
      hints->tx_attr->msg_order |= FI_ORDER_SAW;
      hints->rx_attr->msg_order |= FI_ORDER_SAW;
    }
    // A put completes when its bytes have arrived. A provider that cannot report that is not used
    // natively.
    if (tried.rma == rma_mode::native) hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
    if (tried.provider_keys) hints->domain_attr->mr_mode |= FI_MR_PROV_KEY;
    const bool shares = *shared || (tried.provider_keys && tried.rma == rma_mode::native);
    if (shares) {
      hints->domain_attr->threading = FI_THREAD_SAFE;
      // Memory that is bound to one endpoint cannot be accessed through others.
      hints->domain_attr->mr_mode &= ~FI_MR_ENDPOINT;
    }
    info_ptr list;
    code = ask(*hints, &list);
    if (code != 0) continue;
    info_ptr info = pick(*list, wanted);
    if (info == nullptr) {
      code = -FI_ENODATA;
      continue;
    }
    info->tx_attr->op_flags = 0;  // each operation says what it needs
    if (core_of(info->fabric_attr->prov_name) == "shm") {
      if (base::Status status = name_uniquely(info.get()); !status.ok()) return status;
    }
    provider found;
    found.info = std::move(info);
    found.rma = tried.rma;
    found.shares_domain = shares;
    return found;
  }
  return failure(base::StrCat("opening provider ", wanted.name), code);
}

}  // namespace lci::net::ofi
