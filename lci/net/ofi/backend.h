#ifndef LCI_NET_OFI_BACKEND_H_
#define LCI_NET_OFI_BACKEND_H_

#include "lci/net/backend.h"

namespace lci::net::ofi {

// The ofi backend: connects ranks on any hosts through libfabric's reliable datagrams (context.h).
extern const backend_entry backend;

}  // namespace lci::net::ofi

#endif  // LCI_NET_OFI_BACKEND_H_
