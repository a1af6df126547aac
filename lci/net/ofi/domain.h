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

// A libfabric domain and the registrations of this rank's memory in it. Each device has a domain of
// its own, so that it shares no locks and no registration cache with other devices (SC'25 paper,
// section 5.2.4), unless all devices share one (provider::shares_domain).
//
// Thread safety: add and remove by one thread at a time; they take `lock`. Other members may be
// called by any thread at any time.
class alignas(base::cache_line_size) domain {
 public:
  // Counts the registrations in `count`, which outlives the domain.
  static base::StatusOr<std::unique_ptr<domain>> open(fid_fabric& fabric, const provider& from,
                                                      registration_count& count);
  ~domain();

  fid_domain& get() const { return *domain_; }
  // The endpoint to which memory is bound where the provider requires it (FI_MR_ENDPOINT). Called
  // before the first add.
  void bind(fid_ep* endpoint) { endpoint_ = endpoint; }

  base::Status add(const region_table::region& opened);
  void remove(uint32_t index);
  // Registers other local memory: that of the packets. `key` is unique (region_table::take_key).
  base::StatusOr<fid_ptr<fid_mr>> register_local(void* address, size_t size, uint64_t key);
  // Removes all remaining registrations that add() has made. The endpoint to which they are bound
  // can be closed only afterwards.
  void remove_all();

  // Null where local memory needs no registration, or where the region has size 0.
  void* descriptor(uint32_t index) const {
    fid_mr* registration = registrations_.get(index);
    return needs_local_ && registration != nullptr ? fi_mr_desc(registration) : nullptr;
  }
  // The key that the provider uses: the region's own, or one that the provider has chosen.
  uint64_t key(uint32_t index) const;
  // The address by which peers access the region.
  uint64_t address(const region_table::region& of) const {
    return by_address_ ? reinterpret_cast<uintptr_t>(of.address) : 0;
  }

  // Serializes everything that libfabric allows to one thread at a time: the domain and all objects
  // in it. In a domain that devices share, libfabric allows concurrent use; the lock then guards
  // the registrations only.
  ds::spinlock lock;

 private:
  explicit domain(registration_count& count) : count_(count) {}
  // Takes `lock`. `what`: of what the error says that there are `size`.
  base::StatusOr<fid_ptr<fid_mr>> make(void* address, size_t size, uint64_t access, uint64_t key,
                                       const char* what);

  registration_count& count_;
  fid_ptr<fid_domain> domain_;
  fid_ep* endpoint_ = nullptr;
  bool needs_local_ = false;
  bool by_address_ = false;
  bool binds_ = false;
  bool remote_ = false;                    // peers access memory through the provider
  ds::mpmc_array<fid_mr*> registrations_;  // by index of region
  size_t used_ = 0;                        // of registrations_
};

}  // namespace lci::net::ofi

#endif  // LCI_NET_OFI_DOMAIN_H_
