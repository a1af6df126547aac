// libfabric, loaded when somebody wants it: with it come the libraries of all its providers, some
// of which look for their hardware as soon as they are loaded. A program that does not use this
// backend would pay for that with a fifth of a second at its start.
//
// Only what is not inline in libfabric's headers; so fi_getinfo and the like are not called by
// name, nor fi_allocinfo, which calls one of them.
#ifndef LCI_NET_OFI_LIBRARY_H_
#define LCI_NET_OFI_LIBRARY_H_

#include <rdma/fabric.h>

#include <cstdint>

#include "lci/base/status.h"

namespace lci::net::ofi {

struct library {
  decltype(&::fi_getinfo) getinfo = nullptr;
  decltype(&::fi_freeinfo) freeinfo = nullptr;
  decltype(&::fi_dupinfo) dupinfo = nullptr;
  decltype(&::fi_fabric) fabric = nullptr;
  decltype(&::fi_strerror) strerror = nullptr;
};

// Looks its functions up in a file that the loader finds. An error says what the loader said.
base::StatusOr<library> load_library_from(const char* file);
// libfabric.so.1 the first time; for good, since it can't be unloaded.
base::Status load_library();
// After load_library() was ok.
const library& libfabric();

// What libfabric calls an error of its own; positive or negative, as it comes.
const char* describe(int64_t code);

}  // namespace lci::net::ofi

#endif  // LCI_NET_OFI_LIBRARY_H_
