#ifndef LCI_NET_OFI_DOMAIN_H_
#define LCI_NET_OFI_DOMAIN_H_

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <memory>

#include "lci/base/cache_aligned.h"
#include "lci/base/status.h"
#include "lci/ds/mpmc_array.h"
#include "lci/ds/spinlock.h"
#include "lci/net/ofi/fid.h"
#include "lci/net/ofi/provider.h"
#include "lci/net/ofi/regions.h"
#include "lci/net/registration_count.h"

namespace lci::net::ofi {

// A domain of libfabric, and the registrations of this rank's memory in it. A device has one to
// itself, so that its locks (and its cache of registrations) are nobody else's (SC'25 paper,
// section 5.2.4); unless they share one, see provider::shares_domain.
//
// Thread safety: add and remove by one thread at a time; they take `lock`. The rest by any thread
// at any time.
class alignas(base::cache_line_size) domain {
 public:
  // What is added is counted in `count`, which outlives it.
  static base::StatusOr<std::unique_ptr<domain>> open(fid_fabric& fabric, const provider& from,
                                                      registration_count& count);
  ~domain();

  fid_domain& get() const { return *domain_; }
  // Where the provider wants memory bound to an endpoint (FI_MR_ENDPOINT): before the first add.
  void bind(fid_ep* endpoint) { endpoint_ = endpoint; }

  base::Status add(const region_table::region& opened);
  void remove(uint32_t index);
  // Any other memory of ours: for the packets. `key` is nobody else's (region_table::take_key).
  base::StatusOr<fid_ptr<fid_mr>> register_local(void* address, size_t size, uint64_t key);
  // Ends all registrations that add() has made and remove() not ended. An endpoint that they are
  // bound to can't be closed before.
  void remove_all();

  // Null where local memory needs no registration, or that has size 0.
  void* descriptor(uint32_t index) const {
    fid_mr* registration = registrations_.get(index);
    return needs_local_ && registration != nullptr ? fi_mr_desc(registration) : nullptr;
  }
  // As the provider names it: ours, or of the provider's choice.
  uint64_t key(uint32_t index) const;
  // The address by which it is reached from elsewhere.
  uint64_t address(const region_table::region& of) const {
    return by_address_ ? reinterpret_cast<uintptr_t>(of.address) : 0;
  }

  // Of everything that libfabric wants one thread for: the domain and all in it. A domain that is
  // shared between devices does not want that; then of the registrations only.
  ds::spinlock lock;

 private:
  explicit domain(registration_count& count) : count_(count) {}

  registration_count& count_;
  fid_ptr<fid_domain> domain_;
  fid_ep* endpoint_ = nullptr;
  bool needs_local_ = false;
  bool by_address_ = false;
  bool binds_ = false;
  bool remote_ = false;                    // memory is reached from elsewhere
  ds::mpmc_array<fid_mr*> registrations_;  // by index of region
  size_t used_ = 0;                        // of registrations_
};

}  // namespace lci::net::ofi

#endif  // LCI_NET_OFI_DOMAIN_H_
