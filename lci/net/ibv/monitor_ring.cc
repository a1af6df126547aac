#include "lci/net/ibv/monitor_ring.h"

#include <algorithm>
#include <map>
#include <string>

namespace lci::net::ibv {

// Lists the ranks port by port, the port with the most ranks first. Ranks that are `stride` places
// apart in this list become neighbors. If the largest port has no more ranks than the stride,
// neighbors have different ports; otherwise the ranks of other ports divide those of the largest as
// evenly as possible.
monitor_ring::monitor_ring(const std::vector<port_address>& addresses) {
  std::map<std::string, std::vector<int>> of_port;
  for (size_t r = 0; r < addresses.size(); ++r) {
    of_port[std::string(as_bytes(addresses[r]))].push_back(static_cast<int>(r));
  }
  std::vector<std::vector<int>> ports;
  for (auto& each : of_port) ports.push_back(std::move(each.second));
  std::sort(ports.begin(), ports.end(), [](const auto& a, const auto& b) {
    return a.size() != b.size() ? a.size() > b.size() : a.front() < b.front();
  });
  std::vector<int> listed;
  for (const std::vector<int>& each : ports) listed.insert(listed.end(), each.begin(), each.end());

  const size_t largest = ports.empty() ? 0 : ports.front().size();
  const size_t stride = std::max<size_t>(1, std::min(largest, listed.size() - largest));
  positions_.resize(listed.size());
  for (size_t first = 0; first < stride; ++first) {
    for (size_t i = first; i < listed.size(); i += stride) {
      positions_[static_cast<size_t>(listed[i])] = ranks_.size();
      ranks_.push_back(listed[i]);
    }
  }
}

}  // namespace lci::net::ibv
