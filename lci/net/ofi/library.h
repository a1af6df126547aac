// libfabric, loaded on first use: it loads the libraries of all its providers, and some of these
// search for their hardware at once. That would cost a program without this backend a fifth of a
// second at its start.
//
// The table has the functions that are not inline in libfabric's headers. fi_getinfo and the others
// must not be called by name, nor fi_allocinfo, which calls one of them.
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

// Loads `file`, which the loader searches for, and looks up the functions in it. The error contains
// the loader's message.
base::StatusOr<library> load_library_from(const char* file);
// Loads libfabric.so.1 at the first call; it cannot be unloaded.
base::Status load_library();
// Only after load_library() has succeeded.
const library& libfabric();

// libfabric's text for an error code, positive or negative.
const char* describe(int64_t code);

}  // namespace lci::net::ofi

#endif  // LCI_NET_OFI_LIBRARY_H_
