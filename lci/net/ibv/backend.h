#ifndef LCI_NET_IBV_BACKEND_H_
#define LCI_NET_IBV_BACKEND_H_

#include "lci/base/status.h"
#include "lci/net/backend.h"

namespace lci::net::ibv {

// Ranks of any hosts, through an InfiniBand or RoCE device (context.h).
extern const backend_entry backend;

// Whether this host has a port that can be used, and the configuration leads to it. An error says
// what there is, and what is wrong with it.
base::Status usable(const context_config& config);

}  // namespace lci::net::ibv

#endif  // LCI_NET_IBV_BACKEND_H_
