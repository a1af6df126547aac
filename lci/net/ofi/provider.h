// Chooses a provider of libfabric and describes its capabilities.
//
// The provider is chosen by name (attribute ofi_provider_name, so LCI_ATTR_OFI_PROVIDER_NAME), else
// it is the first in the list
//   cxi, efa, psm3, opx, psm2, verbs, tcp, net, tcp;ofi_rxm, sockets
// that every rank offers; shm, udp and unknown providers are used only if there is none of these. A
// name may be that of the core ("tcp") or complete ("tcp;ofi_rxm").
#ifndef LCI_NET_OFI_PROVIDER_H_
#define LCI_NET_OFI_PROVIDER_H_

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lci/base/status.h"
#include "lci/net/ofi/library.h"
#include "lci/net/ofi/offers.h"

namespace lci::net::ofi {

// How puts and gets are executed.
enum class rma_mode {
  native,    // fi_write and fi_read: the target does nothing
  asked,     // the target checks that its memory is open, and then reads or writes the requester's;
             // small transfers travel inside the request or reply
  messages,  // all bytes travel with the request or the reply
};
// For people: "by the provider", "asked of the target" or "in messages".
const char* describe(rma_mode mode);

// `asked` for providers that end the connection, or never answer, at an access to memory that is
// not open (or no longer open): one wrong access would cut off the two ranks from each other for
// good. `native` for the others, which only report the error to the requester. Known from
// experiments or documentation.
rma_mode preferred_mode(std::string_view provider);

// Whether the completion of a send implies that of all earlier sends to the same rank, because they
// use one connection in order. Known from libfabric's documentation of the provider.
bool completes_in_order(std::string_view provider);

// Whether the provider is chosen without being named. `version`: fi_fabric_attr::prov_version. The
// provider net was under development before libfabric 1.17.
bool is_mature(std::string_view provider, uint32_t version);

// Whether the provider keeps posted receives in memory that grows: tcp and net, without a layer.
// Elsewhere fi_rx_attr::size is the most.
bool receives_grow(std::string_view provider);

// Whether the descriptor of a completion queue of the provider stays readable after the first
// completion, unless the queue is part of a wait set: net, and tcp without a layer, before
// libfabric 1.18.1. `version`: as for is_mature.
bool needs_wait_set(std::string_view provider, uint32_t version);

// Whether the provider writes bytes directly to TCP sockets of the kernel.
bool is_over_tcp(std::string_view provider);

// The largest message that the provider sends eagerly from memory that is not registered, so that
// memory for larger packets costs nothing until it is used. 0 for all other providers.
size_t eager_limit_of(std::string_view provider);

// The position in the list above: 0, 1, ...; smaller is better.
int preference(std::string_view provider);
// "tcp" of "tcp;ofi_rxm".
std::string_view core_of(std::string_view provider);
bool names(std::string_view asked_for, std::string_view provider);

// The best provider in the offers of all ranks. The error names what each rank has.
base::StatusOr<std::string> choose_common(const std::vector<rank_offer>& ranks);

// An error of libfabric as a status. `code` is negative, as returned.
base::Status failure(std::string_view what, int64_t code);

struct free_info {
  void operator()(fi_info* info) const { libfabric().freeinfo(info); }
};
using info_ptr = std::unique_ptr<fi_info, free_info>;

struct wanted_provider {
  std::string name;       // empty: any
  std::string interface;  // empty: any
  std::string address;    // of the interface; empty: that of the loopback if `one_host`, else the
                          // first other one
  bool one_host = false;  // whether all ranks have the same interfaces
};

// The providers that this host can use, each once. `address` and `one_host` of `wanted` have no
// effect. An error if there is none.
base::StatusOr<std::vector<provider_offer>> list_providers(const wanted_provider& wanted);

struct provider {
  info_ptr info;
  rma_mode rma = rma_mode::messages;
  // Whether all devices share one domain, which any thread may use at any time; else each device
  // has its own. Sharing is needed where the provider chooses the keys and peers access memory
  // directly: keys differ between domains, and a peer knows only one of them.
  bool shares_domain = false;

  // With rma_mode::asked: whether a latency-critical put can be written directly, because peers
  // know the keys and addresses that the provider uses, and the write itself can notify the target.
  bool writes_latency_critical() const;

  const char* name() const { return info->fabric_attr->prov_name; }
  // "10.0.0.1 on eth0", as far as the provider says that of its endpoints.
  std::string place() const;
  // The IP address of an endpoint of this provider, whose name is that of endpoint::name(). Empty
  // for providers that have other addresses.
  std::string address_of(std::string_view endpoint_name) const;
  int mr_mode() const { return info->domain_attr->mr_mode; }
};

// Opens the provider of that name. As far as the provider supports it,
//   LCI_OFI_RMA=auto|native|asked|messages overrides preferred_mode();
//   LCI_OFI_DOMAIN=auto|shared makes devices share a domain. Shared, they wait for each other in
//     the provider, but memory is registered once instead of once per device.
base::StatusOr<provider> find_provider(const wanted_provider& wanted);

}  // namespace lci::net::ofi

#endif  // LCI_NET_OFI_PROVIDER_H_
