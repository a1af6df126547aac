#ifndef LCI_NET_SHM_BACKEND_H_
#define LCI_NET_SHM_BACKEND_H_

#include "lci/net/backend.h"

namespace lci::net::shm {

// Ranks of one host, through memory that they share.
extern const backend_entry backend;

}  // namespace lci::net::shm

#endif  // LCI_NET_SHM_BACKEND_H_
