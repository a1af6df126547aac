#ifndef LCI_NET_MIXED_HOSTS_H_
#define LCI_NET_MIXED_HOSTS_H_

#include <string>
#include <string_view>
#include <vector>

#include "lci/base/status.h"
#include "lci/boot/bootstrap.h"

namespace lci::net::mixed {

// The set of ranks on this rank's host.
struct hosts {
  std::vector<int> neighbors;  // ascending, this rank among them
  std::vector<int> index;      // by rank: where it is in neighbors; -1: it is elsewhere
  int largest = 1;             // ranks that share a host, on the host that has most
};

// "0,0,1": the number of each rank's host, repeated as often as there are ranks.
base::StatusOr<std::vector<int>> parse_hosts(std::string_view text, int ranks);

// Element r of `numbers` is equal for ranks on one host.
hosts group_by_host(const std::vector<std::string>& numbers, int rank);

// Collective.
base::StatusOr<hosts> find_hosts(boot::bootstrap& boot);

}  // namespace lci::net::mixed

#endif  // LCI_NET_MIXED_HOSTS_H_
