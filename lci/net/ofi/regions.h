#ifndef LCI_NET_OFI_REGIONS_H_
#define LCI_NET_OFI_REGIONS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "lci/base/cache_aligned.h"
#include "lci/ds/mpmc_array.h"
#include "lci/ds/spinlock.h"
#include "lci/net/op.h"

namespace lci::net::ofi {

// The registered memory of this rank: the buffers of its own posts, and the memory that peers may
// access through requests to this rank. domain.h has the provider's view of it.
//
// Thread safety: every member may be called by any thread at any time. open and close wait for each
// other only, and close waits for a use() of that region.
class region_table {
 public:
  struct alignas(base::cache_line_size) region {
    uint32_t index = 0;
    uint64_t key = 0;  // guarded by lock where peers request access. 0: closed
    unsigned char* address = nullptr;
    size_t size = 0;
    ds::spinlock lock;
    // Reads and writes of peers that the provider has begun here. Also of a slot's earlier regions.
    std::atomic<uint32_t> accesses{0};
  };

  // Keys are consecutive from a random start, and reused only after all others. So the keys of
  // other ranks and of earlier jobs are not accepted as this rank's.
  explicit region_table(uint64_t first_key) : next_key_(first_key) {}
  // Limits keys to this many bytes. Called before the first open.
  void set_key_bytes(size_t bytes);

  region& open(void* address, size_t size);
  // A key that no region has, for memory that is registered with the provider only.
  uint64_t take_key();
  // After it returns, no use() of the memory is in progress, and none begins.
  void refuse(region& refused);
  // As refuse; the slot may be used again.
  void close(region& closed);

  // The open region that `local` names.
  region& at(local_region local) const { return *slots_.get(local.handle - 1); }
  static local_region local(const region& open) { return {open.index + uint64_t{1}}; }
  // The name by which a peer requests the region: its key, of name_key_bytes at most, and its
  // index. The base is left to the mixed backend, which puts a number of its own there.
  static remote_region remote(const region& open) {
    return {0, open.key << index_bits | open.index};
  }
  // The key in that name.
  static uint64_t key_of(remote_region name) { return name.key >> index_bits; }
  static constexpr size_t name_key_bytes = 4;

  // Calls f(region, address of the bytes) if the bytes are open; returns false otherwise.
  template <class F>
  bool use(remote_region wanted, uint64_t offset, size_t size, const F& f) const {
    region* const found = wanted.base != 0 ? nullptr : slots_.get(wanted.key & UINT32_MAX);
    if (found == nullptr) return false;
    const std::lock_guard<ds::spinlock> guard(found->lock);
    if (found->key == 0 || remote(*found).key != wanted.key || offset > found->size ||
        size > found->size - offset) {
      return false;
    }
    f(*found, found->address + offset);
    return true;
  }

  // Calls f(region) for each open region. No region is opened or closed meanwhile.
  template <class F>
  void for_each(const F& f) const {
    const std::lock_guard<std::mutex> guard(mutex_);
    for (const auto& slot : owned_) {
      if (slot->key != 0) f(*slot);
    }
  }

 private:
  static constexpr int index_bits = 32;

  uint64_t next_key();  // with mutex_

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<region>> owned_;  // guarded by mutex_
  std::vector<uint32_t> free_;                  // guarded by mutex_
  uint64_t next_key_;                           // guarded by mutex_
  uint64_t key_mask_ = ~uint64_t{0};
  ds::mpmc_array<region*> slots_;
};

}  // namespace lci::net::ofi

#endif  // LCI_NET_OFI_REGIONS_H_
