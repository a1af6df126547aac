#ifndef LCI_NET_IBV_CIRCLE_H_
#define LCI_NET_IBV_CIRCLE_H_

#include <cstddef>
#include <vector>

#include "lci/net/ibv/wire.h"

namespace lci::net::ibv {

// The ranks of a job in a circle, in which neighbours watch each other. What goes down together
// stands apart: as long as no port has more than half of the ranks, no rank has a neighbour of its
// own port; up to two thirds, none has two. Thread safety: immutable.
class circle {
 public:
  circle() = default;
  // Of ranks 0, 1, ...; equal addresses are one port. The same for all who call it with the same.
  explicit circle(const std::vector<port_address>& addresses);

  // `step` is 1 or -1. With one rank, it itself.
  int next(int rank, int step) const {
    const size_t at = places_[static_cast<size_t>(rank)];
    const size_t n = ranks_.size();
    return ranks_[(step > 0 ? at + 1 : at + n - 1) % n];
  }

 private:
  std::vector<int> ranks_;      // by place
  std::vector<size_t> places_;  // by rank
};

}  // namespace lci::net::ibv

#endif  // LCI_NET_IBV_CIRCLE_H_
