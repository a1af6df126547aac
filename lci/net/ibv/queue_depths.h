#ifndef LCI_NET_IBV_QUEUE_DEPTHS_H_
#define LCI_NET_IBV_QUEUE_DEPTHS_H_

#include <cstddef>
#include <cstdint>

#include "lci/base/status.h"
#include "lci/net/capacity.h"

namespace lci::net::ibv {

// Depths of the queues of a device: sums that no queue can overrun.
struct queue_depths {
  // Work requests in each send queue. A rank has two send queues for each other rank.
  uint32_t depth = 0;
  // Receives in the shared receive queue: at most as many as the peers can have in flight, with two
  // send queues each. (While the queue is empty, the peers' devices wait and retry.)
  uint32_t receives = 0;
  // Entries of the completion queue. Each receive produces at most one entry. So does each work
  // request, signaled or not, since all requests of a queue pair that breaks complete with an
  // error. So does the one heartbeat in flight to each rank.
  uint32_t completions = 0;
};

// Limits of an RDMA device.
struct device_capacity {
  size_t completions = 0;
  size_t receives = 0;
  size_t depth = 0;
};

// The error names the resource that the device has too little of.
base::StatusOr<queue_depths> choose_queue_depths(const queue_lengths& wanted, size_t ranks,
                                                 const device_capacity& has);

}  // namespace lci::net::ibv

#endif  // LCI_NET_IBV_QUEUE_DEPTHS_H_
