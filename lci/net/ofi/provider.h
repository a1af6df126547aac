// Finds a provider of libfabric on this host, and describes its capabilities. Which one a job uses is
// in provider_facts.h, on which of its addresses in offers.h.
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
#include "lci/net/ofi/provider_facts.h"

namespace lci::net::ofi {

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
  // for providers that have other addresses, and without a name.
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
