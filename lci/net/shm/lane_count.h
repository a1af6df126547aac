// How many lanes a device has (laned_device.h).
#ifndef LCI_NET_SHM_LANE_COUNT_H_
#define LCI_NET_SHM_LANE_COUNT_H_

#include <cstdint>
#include <vector>

#include "lci/net/shm/wire.h"

namespace lci::net::shm {

// Sets the members on the processors that this process may use.
void set_processors(mailbox_offer* offer);

// The most lanes that choose_lanes() may return for this rank's offer, whose other members are set.
uint32_t most_lanes(const mailbox_offer& offer);

// Of the offers of all ranks: a power of two, the least that a rank wants. A rank that leaves it open
// wants four lanes for each processor that it has to itself, if all ranks that may use the same
// processors divide them evenly; one lane if it has only one processor.
uint32_t choose_lanes(const std::vector<mailbox_offer>& offers);

}  // namespace lci::net::shm

#endif  // LCI_NET_SHM_LANE_COUNT_H_
