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

// What of it the device has: writes, sends and reads of reliable connections by on-demand paging,
// of all memory for implicit_odp. Else none, with a line to the log that says so.
paging supported_paging(const verbs& with, const port& of, const paging& wanted);

// This rank's registered memory: in the protection domain that all devices share, so each is
// registered once. With implicit_odp all memory of the process is one registration, and a region
// just an address: it is cheap, and peers can reach what was deregistered.
//
// Thread safety: every member by any thread at any time.
class region_table {
 public:
  region_table(const verbs& with, const port& of, const paging& by);
  ~region_table();
  region_table(const region_table&) = delete;
  region_table& operator=(const region_table&) = delete;

  base::StatusOr<local_region> open(void* address, size_t size);
  void close(local_region closed);
  // In a child that was forked off, all is the parent's.
  void abandon();

  // Of a region that is open.
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
    ibv_mr* registration = nullptr;  // null: empty, or with `all_`
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
