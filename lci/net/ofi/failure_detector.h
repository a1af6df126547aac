#ifndef LCI_NET_OFI_FAILURE_DETECTOR_H_
#define LCI_NET_OFI_FAILURE_DETECTOR_H_

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "lci/net/ofi/core.h"
#include "lci/net/ofi/packet_path.h"
#include "lci/net/ofi/processes.h"
#include "lci/net/ofi/rma.h"

namespace lci::net::ofi {

// Looks for ranks that have failed, confirms suspicions (peer_health.h), and cleans up after ranks
// that have failed or ended. A rank of this host has failed when its process has ended. To each
// other rank a packet is sent from time to time: a failed rank does not take it, and the provider
// reports that.
//
// Thread safety: the caller holds the device's lock.
class failure_detector {
 public:
  failure_detector(device_core& core, const process_table& processes, packet_path& packets,
                   rma& accesses);

  // Suspects ranks whose process has ended, and probes others, unless it has done so just before.
  void check();
  // Delivers peer_failed for each suspected rank all of whose packets have been read.
  void confirm();
  // The rank has ended its device.
  void bye(int rank);

  // The endpoint of the rank, as its provider names it.
  void set_endpoint_name(int rank, std::string_view name);
  // Removes the name of the shared memory that provider shm has made for a rank. Mappings of it
  // stay.
  void remove_shared_memory(int rank);

 private:
  void forget(int rank);
  void probe(std::chrono::steady_clock::time_point now);

  device_core& core_;
  const process_table& processes_;
  packet_path& packets_;
  rma& rma_;
  std::vector<std::string> shared_memory_;  // by rank: a file in /dev/shm, or empty
  int next_probe_ = 0;
  std::chrono::steady_clock::time_point last_probe_;
};

}  // namespace lci::net::ofi

#endif  // LCI_NET_OFI_FAILURE_DETECTOR_H_
