#ifndef LCI_NET_IBV_REGIONS_H_
#define LCI_NET_IBV_REGIONS_H_

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "lci/api/types.hpp"
#include "lci/base/status.h"
#include "lci/ds/mpmc_array.h"
#include "lci/net/ibv/port.h"
#include "lci/net/ibv/verbs.h"
#include "lci/net/op.h"

namespace lci::net::ibv {

struct paging {
  attr_ibv_odp_strategy_t strategy = attr_ibv_odp_strategy_t::none;
  attr_ibv_prefetch_strategy_t prefetch = attr_ibv_prefetch_strategy_t::none;
};

// Returns `wanted` if the device supports it: on-demand paging for sends, writes and reads of
// reliable connections, and of all memory for implicit_odp. Otherwise logs a warning and returns no
// paging.
paging supported_paging(const verbs& library, const port& of, const paging& wanted);

// The registered memory of this rank. All devices share one protection domain, so each region is
// registered once. With implicit_odp all memory of the process is one registration, and a region is
// only an address: registration is cheap, but peers can reach memory after its deregistration.
//
// Thread safety: every member may be called by any thread at any time.
class region_table {
 public:
  region_table(const verbs& library, const port& of, const paging& by);
  ~region_table();
  region_table(const region_table&) = delete;
  region_table& operator=(const region_table&) = delete;

  base::StatusOr<local_region> open(void* address, size_t size);
  void close(local_region closed);
  // Forgets all registrations: in a forked child they belong to the parent.
  void abandon();

  // For an open region.
  uint32_t local_key(local_region of) const { return entries_.get(of.handle - 1)->local_key; }
  remote_region remote(local_region of) const {
    const entry* found = entries_.get(of.handle - 1);
    return {reinterpret_cast<uintptr_t>(found->address), found->remote_key};
  }

 private:
  struct entry {
    uint32_t local_key = 0;
    uint32_t remote_key = 0;
    void* address = nullptr;
    ibv_mr* registration = nullptr;  // null: unused, or covered by `all_`
  };
  base::StatusOr<ibv_mr*> enter(void* address, size_t size) const;
  void prefetch(const ibv_mr& of, void* address, size_t size) const;

  const verbs& verbs_;
  ibv_pd* const domain_;
  const paging paging_;
  ibv_mr* all_ = nullptr;  // implicit_odp
  std::mutex mutex_;
  std::vector<std::unique_ptr<entry>> owned_;  // guarded by mutex_
  std::vector<uint32_t> free_;                 // guarded by mutex_
  ds::mpmc_array<entry*> entries_;
};

}  // namespace lci::net::ibv

#endif  // LCI_NET_IBV_REGIONS_H_
