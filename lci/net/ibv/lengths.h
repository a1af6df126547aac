#ifndef LCI_NET_IBV_LENGTHS_H_
#define LCI_NET_IBV_LENGTHS_H_

#include <cstddef>
#include <cstdint>

#include "lci/base/status.h"
#include "lci/net/capacity.h"

namespace lci::net::ibv {

// Queues of a device, as sums that no queue can overrun.
struct lengths {
  // Work requests in each send queue. A rank has two for each other rank.
  uint32_t depth = 0;
  // In the shared receive queue. No more than peers can have on the way: each has two send queues.
  // (When it is empty, devices of peers wait and try again.)
  uint32_t receives = 0;
  // Each receive has one entry at most, and so has each work request, signalled or not: those of a
  // queue pair that breaks down all have one. So has one pulse of each rank.
  uint32_t completions = 0;
};

// What a device grants.
struct device_capacity {
  size_t completions = 0;
  size_t receives = 0;
  size_t depth = 0;
};

// An error says what there is not enough of.
base::StatusOr<lengths> choose_lengths(const queue_lengths& wanted, size_t ranks,
                                       const device_capacity& has);

}  // namespace lci::net::ibv

#endif  // LCI_NET_IBV_LENGTHS_H_
