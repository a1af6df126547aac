#ifndef LCI_NET_SIM_BACKEND_H_
#define LCI_NET_SIM_BACKEND_H_

#include "lci/net/backend.h"
#include "lci/net/sim/fabric.h"

namespace lci::net::sim {

// The simulated network, for ranks that are threads of one process (boot/in_process.h). Never
// chosen by itself; LCI_ATTR_BACKEND=sim, or net_context's attribute, asks for it.
extern const backend_entry backend;

// The fabric of a context that this backend made; null for another one's.
fabric* fabric_of(context& network);

}  // namespace lci::net::sim

#endif  // LCI_NET_SIM_BACKEND_H_
