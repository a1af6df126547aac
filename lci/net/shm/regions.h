// Memory that ranks open to each other, and the copying into and out of it.
#ifndef LCI_NET_SHM_REGIONS_H_
#define LCI_NET_SHM_REGIONS_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "lci/base/status.h"
#include "lci/base/tsan_ignore_scope.h"
#include "lci/ds/hazard.h"
#include "lci/net/op.h"
#include "lci/net/shm/wire.h"

namespace lci::net::shm {

// Bytes that a rank has opened.
struct open_bytes {
  uint64_t address = 0;  // in the process of its owner
  uint64_t backing = 0;  // 0, or the block of the owner's heap that they are in
  uint64_t offset = 0;   // from the beginning of the registration, and of that block
  uint64_t length = 0;   // of the whole registration
};

// Logs that a put of `rank` came for memory that this rank has closed meanwhile.
void report_closed_memory(int rank);

// Whether a directory holds the registration `region` and it covers these bytes; then also where
// they are.
[[gnu::always_inline]] inline bool find_open(const region_slot* slots, remote_region region,
                                             uint64_t offset, size_t size, open_bytes* found) {
  if (region.base >= directory_capacity || region.key == 0) return false;
  const region_slot& slot = slots[region.base];
  if (slot.key.load(std::memory_order_acquire) != region.key) return false;  // A2
  const uint64_t base = slot.base.load(std::memory_order_acquire);           // A1
  const uint64_t length = slot.size.load(std::memory_order_acquire);         // A1
  const uint64_t backing = slot.backing.load(std::memory_order_acquire);     // A1
  if (slot.key.load(std::memory_order_relaxed) != region.key) return false;
  if (offset > length || size > length - offset) return false;
  // The sizes that a peer claims for its own segment must fit; other wrong claims harm only that
  // peer.
  if (backing != 0 && length > pages_of(backing) * page_size) return false;
  *found = {base + offset, backing, offset, length};
  return true;
}

// Whether a registration that find_open() has found is still there. A look, which is cheaper.
inline bool is_open_still(const region_slot* slots, remote_region region) {
  return slots[region.base].key.load(std::memory_order_relaxed) == region.key;
}

enum class copy_direction { to_peer, from_peer };

// Copies `size` bytes between `local` here and `remote` in process `pid`, in the kernel
// (process_vm_writev, process_vm_readv). False, with errno, if not all of them could be copied.
bool copy_across(pid_t pid, copy_direction direction, void* local, uint64_t remote, size_t size);
// The same between ranks of one process.
void copy_within(copy_direction direction, void* local, uint64_t remote, size_t size);

// This rank's registrations, in its directory. Slots are handed out in stripes, to each thread (of
// some) from its own, since a large message is a registration and threads with devices of their own
// must not meet here.
//
// Thread safety: every member by any thread at any time; blocks for another registration or use in
// the same stripe, but for remote() and for users, which take no lock.
class region_table {
 public:
  // Uses regions without a lock: for frequent, small copies. The first close() of a region after
  // such a use has a process_barrier(). Thread safety: one thread at a time.
  class user {
   public:
    explicit user(region_table& table);
    ~user();
    user(const user&) = delete;
    user& operator=(const user&) = delete;

    // While it lives, close() of the region waits.
    class use {
     public:
      // The bytes are open here, as a peer in another process asks for, if address() is not null.
      use(user& by, remote_region region, uint64_t offset, size_t size);
      void* address() const { return address_; }

     private:
      const ds::hazard::use hazard_;
      const base::tsan_ignore_scope access_;  // the order comes through the peer's process
      void* address_ = nullptr;
    };

   private:
    friend region_table;
    region_table& table_;
    ds::hazard hazard_;
  };

  // `slots` stay mapped for the life of the table, which is their only writer. `first_key` is
  // random, so that keys of other ranks and of earlier jobs are not taken for this rank's.
  void attach(region_slot* slots, uint64_t first_key);

  // `backing`: the block that begins with `address`, if the memory is from the heap.
  base::StatusOr<local_region> open(const void* address, size_t size, uint64_t backing = 0);
  // When it has returned, no use() of the memory is under way.
  void close(local_region region);
  // Once there is no user.
  void close_all();
  // Gives it another key, not 0, before any rank knows the region.
  void rename(local_region region, uint64_t key);
  remote_region remote(local_region region) const;

  // Calls f(address of the bytes) if they are open here, as a peer in another process asks for.
  // False if they aren't. For large copies: their memory is often open for one message only, and
  // its close() costs less after a lock than after a user.
  template <class F>
  bool use(remote_region region, uint64_t offset, size_t size, const F& f) {
    if (region.base >= directory_capacity) return false;
    const std::lock_guard<std::mutex> guard(stripe_of(region.base).mutex);
    open_bytes found;
    if (!find_open(slots_, region, offset, size, &found)) return false;
    const base::tsan_ignore_scope access;  // the order comes through the peer's process
    f(reinterpret_cast<void*>(static_cast<uintptr_t>(found.address)));
    return true;
  }

 private:
  // Until no user uses the slot.
  void wait_for_users(uint32_t index);

  static constexpr size_t stripes = 16;
  // Slots that follow each other and are of one stripe: more than a line of them.
  static constexpr size_t chunk = 64;
  static_assert(directory_capacity % (stripes * chunk) == 0);

  struct alignas(64) stripe {
    std::mutex mutex;
    std::vector<uint32_t> free;  // guarded by mutex
    uint32_t used = 0;           // guarded by mutex: slots of the stripe that have ever been used
    uint64_t next_key = 1;       // guarded by mutex: never given twice
  };

  // Of slot number `nth` of a stripe.
  static constexpr size_t slot_at(size_t stripe, size_t nth) {
    return (nth / chunk * stripes + stripe) * chunk + nth % chunk;
  }
  stripe& stripe_of(size_t slot) const { return stripes_[slot / chunk % stripes]; }
  // It is open, which either its stripe's mutex or the caller keeps.
  region_slot& checked(size_t index) const;
  bool try_open(size_t in, const void* address, size_t size, uint64_t backing, local_region* made);

  region_slot* slots_ = nullptr;
  mutable stripe stripes_[stripes];
  std::vector<ds::hazard_mark> marks_;  // by slot
  std::mutex users_mutex_;              // taken last
  std::vector<const user*> users_;      // guarded by users_mutex_
};

[[gnu::always_inline]] inline region_table::user::use::use(user& by, remote_region region,
                                                           uint64_t offset, size_t size)
    : hazard_(by.hazard_, static_cast<uint32_t>(region.base),
              by.table_.marks_[region.base % directory_capacity]) {
  open_bytes found;
  if (!find_open(by.table_.slots_, region, offset, size, &found)) return;
  address_ = reinterpret_cast<void*>(static_cast<uintptr_t>(found.address));
}

}  // namespace lci::net::shm

#endif  // LCI_NET_SHM_REGIONS_H_
