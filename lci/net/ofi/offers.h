// What each rank can use of libfabric on its host, and the choice of the network that all use.
//
// A host may have networks that no other host reaches, such as those of its containers and virtual
// machines. Those of two hosts often have the same addresses (172.17.0.1 of docker0).
#ifndef LCI_NET_OFI_OFFERS_H_
#define LCI_NET_OFI_OFFERS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lci/base/status.h"

namespace lci::net::ofi {

// An IP address of the host, and its network, as in base::interface_address.
struct offered_address {
  std::string address;
  std::string network;
};

// A provider, and the addresses on which it can have an endpoint, best first. Without those of the
// loopback, link-local ones and those of interfaces without a carrier. Empty for providers that
// have other addresses.
struct provider_offer {
  std::string provider;
  std::vector<offered_address> addresses;
};

// The most addresses of an offer.
constexpr size_t max_offered_addresses = 8;

struct rank_offer {
  uint64_t interfaces = 0;  // equal exactly for ranks that have the same network interfaces
  std::vector<provider_offer> providers;

  // Null if the rank does not have the provider.
  const provider_offer* find(std::string_view provider) const;
};

// Their names.
std::vector<std::string> names_of(const std::vector<provider_offer>& providers);

// The providers as text, which has a line for each provider, and back. Bytes of another form are an
// error.
std::string encode(const std::vector<provider_offer>& providers);
base::StatusOr<std::vector<provider_offer>> decode(std::string_view text);

// The best provider in the offers of all ranks, by preference() of provider_facts.h. The error names what each rank has.
base::StatusOr<std::string> choose_common(const std::vector<rank_offer>& ranks);

// The address from which the kernel sends to another one (base::source_address).
using find_source = std::function<std::string(const std::string& destination)>;

// Returns the address on which `rank` has its endpoint, where the ranks have different interfaces.
// Addresses that two hosts have are not used. It is the address
//  1. in the first network of rank 0 that all ranks have, so that no router is between them;
//  2. from which this host sends to an address of another host;
//  3. that the provider offers first.
// Empty if the provider offers none. An error if another host has each of them, too: the two do not
// reach each other. The error names that rank.
base::StatusOr<std::string> choose_address(const std::vector<rank_offer>& ranks,
                                           std::string_view provider, int rank,
                                           const find_source& source_of);

}  // namespace lci::net::ofi

#endif  // LCI_NET_OFI_OFFERS_H_
