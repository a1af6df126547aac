#ifndef LCI_NET_IBV_MONITOR_RING_H_
#define LCI_NET_IBV_MONITOR_RING_H_

#include <cstddef>
#include <vector>

#include "lci/net/ibv/wire.h"

namespace lci::net::ibv {

// The order of a job's ranks in a ring whose neighbors monitor each other. Ranks that are likely to
// fail together are placed apart: as long as no port has more than half of the ranks, no rank has a
// neighbor on its own port; up to two thirds, no rank has two such neighbors. Thread safety:
// immutable.
class monitor_ring {
 public:
  monitor_ring() = default;
  // `addresses` are those of ranks 0, 1, ...; equal addresses mean the same port. The order depends
  // on nothing else, so that all ranks compute the same ring.
  explicit monitor_ring(const std::vector<port_address>& addresses);

  // The neighbor of `rank` in direction `step`, which is 1 or -1. Returns `rank` in a job of one.
  int neighbor(int rank, int step) const {
    const size_t at = positions_[static_cast<size_t>(rank)];
    const size_t n = ranks_.size();
    return ranks_[(step > 0 ? at + 1 : at + n - 1) % n];
  }

 private:
  std::vector<int> ranks_;         // by position
  std::vector<size_t> positions_;  // by rank
};

}  // namespace lci::net::ibv

#endif  // LCI_NET_IBV_MONITOR_RING_H_
