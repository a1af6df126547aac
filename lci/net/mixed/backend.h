// Two networks as one: ranks of one host reach each other through memory that they share (shm), all
// others through their RDMA devices (ibv) or libfabric (ofi).
//
// The ranks exchange their hosts when a context is made. If all are on one it is one of shm; if no
// two are, one of ibv or ofi: a job pays for this backend only if it has a use for it.
//
// Between hosts: ibv, if every rank has an active port and a route to those of all others; else
// ofi, also if the program names a provider of it.
//
//   LCI_HOSTS=0,0,1 says, for tests, that the ranks are on hosts of these numbers, in turn (as far
//   as those that share a number really are on one).
#ifndef LCI_NET_MIXED_BACKEND_H_
#define LCI_NET_MIXED_BACKEND_H_

#include "lci/net/backend.h"

namespace lci::net::mixed {

extern const backend_entry backend;

// The variable LCI_HOSTS can declare that ranks on one host are on several.
bool has_host_override();

}  // namespace lci::net::mixed

#endif  // LCI_NET_MIXED_BACKEND_H_
