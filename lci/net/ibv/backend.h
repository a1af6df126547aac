#ifndef LCI_NET_IBV_BACKEND_H_
#define LCI_NET_IBV_BACKEND_H_

#include "lci/base/status.h"
#include "lci/net/backend.h"

namespace lci::net::ibv {

// The ibv backend: connects ranks on any hosts through InfiniBand or RoCE devices (context.h).
extern const backend_entry backend;

// Whether this host has a usable port that `config` selects. The error lists the ports and why they
// cannot be used.
base::Status usable(const context_config& config);

}  // namespace lci::net::ibv

#endif  // LCI_NET_IBV_BACKEND_H_
