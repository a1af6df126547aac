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

// An endpoint for reliable datagrams, with its address vector and completion queue. Movable.
// Thread safety: none; its device has a lock.
class endpoint {
 public:
  // `completions` is the size of the completion queue: the most operations that are ever in flight,
  // since an overflow is fatal. With `waits`, the queue has a descriptor to sleep on if the
  // provider supports it; that makes each call on the queue slower.
  static base::StatusOr<endpoint> open(fid_fabric& fabric, fid_domain& domain, const provider& from,
                                       size_t completions, bool waits);

  // The address of this endpoint, for insert() on other ranks.
  base::StatusOr<std::string> name() const;
  base::StatusOr<fi_addr_t> insert(std::string_view name);
  // The name that was inserted. Empty if the provider does not report it.
  std::string inserted_name(fi_addr_t address) const;

  fid_ep* ep() const { return ep_.get(); }
  fid_cq* cq() const { return cq_.get(); }
  // The descriptor of the completion queue, or -1 if there is none to sleep on.
  int descriptor() const { return descriptor_; }
  void ignore_descriptor() { descriptor_ = -1; }
  // Whether the descriptor becomes readable at the next completion, and only then. Some providers
  // check for completions in this call; others only make the descriptor readable.
  bool is_quiet(fid_fabric& fabric) const;

 private:
  void open_wait_set(fid_fabric& fabric);
  base::Status open_queue(fid_domain& domain, size_t completions, bool waits);

  int descriptor_ = -1;
  // Closed from the last to the first.
  fid_ptr<fid_wait> wait_;  // of cq_; null if its own wait object suffices
  fid_ptr<fid_av> av_;
  fid_ptr<fid_cq> cq_;
  fid_ptr<fid_ep> ep_;
};

}  // namespace lci::net::ofi

#endif  // LCI_NET_OFI_ENDPOINT_H_
