#ifndef LCI_NET_OFI_ENDPOINT_H_
#define LCI_NET_OFI_ENDPOINT_H_

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>

#include <string>
#include <string_view>

#include "lci/base/status.h"
#include "lci/net/ofi/fid.h"
#include "lci/net/ofi/provider.h"

namespace lci::net::ofi {

// An endpoint of reliable datagrams with all that belongs to it. Movable. Thread safety: none; its
// device has a lock.
class endpoint {
 public:
  // Its completion queue has `completions` entries: as many as there are ever operations under way,
  // since one that overflows is lost for good. `waits`: it has a descriptor that can be slept on,
  // where the provider has any; that makes each of its calls dearer.
  static base::StatusOr<endpoint> open(fid_domain& domain, const provider& from, size_t completions,
                                       bool waits);

  // Its address, for insert() on other ranks.
  base::StatusOr<std::string> name() const;
  base::StatusOr<fi_addr_t> insert(std::string_view name);

  fid_ep* ep() const { return ep_.get(); }
  fid_cq* cq() const { return cq_.get(); }
  // Of the completion queue; -1: none.
  int descriptor() const { return descriptor_; }

 private:
  base::Status open_queue(fid_domain& domain, size_t completions, bool waits);

  int descriptor_ = -1;
  // Closed from below.
  fid_ptr<fid_av> av_;
  fid_ptr<fid_cq> cq_;
  fid_ptr<fid_ep> ep_;
};

}  // namespace lci::net::ofi

#endif  // LCI_NET_OFI_ENDPOINT_H_
