// The list behind find_backend and list_backends (backend.h), for what changes it: Bazel shows this
// header to lci/testing/backend_override only.
#ifndef LCI_NET_REGISTRY_H_
#define LCI_NET_REGISTRY_H_

#include "lci/net/backend.h"

namespace lci::net {

// The place in the list of the backend with this id, which the list has. Thread safety: none; a
// change must not run concurrently with a search.
const backend_entry*& registered_backend(attr_backend_t id);

}  // namespace lci::net

#endif  // LCI_NET_REGISTRY_H_
