#ifndef LCI_NET_OFI_FID_H_
#define LCI_NET_OFI_FID_H_

#include <rdma/fabric.h>

#include <memory>

namespace lci::net::ofi {

// Closes a libfabric object. Objects made from it must be closed first.
template <class Object>
struct close_fid {
  void operator()(Object* object) const { fi_close(&object->fid); }
};
template <class Object>
using fid_ptr = std::unique_ptr<Object, close_fid<Object>>;

}  // namespace lci::net::ofi

#endif  // LCI_NET_OFI_FID_H_
