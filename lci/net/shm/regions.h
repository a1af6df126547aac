// Memory that ranks open to each other, and the copying into and out of it.
#ifndef LCI_NET_SHM_REGIONS_H_
#define LCI_NET_SHM_REGIONS_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "absl/status/statusor.h"
#include "lci/net/op.h"
#include "lci/net/shm/wire.h"

namespace lci::net::shm {

// This rank's registrations, in its directory.
//
// Thread safety: every member by any thread at any time; blocks only for another registration.
class region_table {
 public:
  // `slots` stay mapped for the life of the table, which is their only writer.
  void attach(region_slot* slots) { slots_ = slots; }

  absl::StatusOr<local_region> open(const void* address, size_t size);
  void close(local_region region);
  remote_region remote(local_region region) const;

 private:
  region_slot* slots_ = nullptr;
  mutable std::mutex mutex_;
  std::vector<uint32_t> free_;  // guarded by mutex_
  uint32_t used_ = 0;           // guarded by mutex_: slots that have ever been used
  uint64_t next_key_ = 1;       // guarded by mutex_: never given twice
};

// What a peer's directory says about bytes that it was told it may reach: their address there, or 0
// if the registration is closed or does not cover them.
uint64_t find_remote(const region_slot* slots, remote_region region, uint64_t offset, size_t size);

enum class copy_direction { to_peer, from_peer };

// Copies `size` bytes between `local` here and `remote` in process `pid`, in the kernel
// (process_vm_writev, process_vm_readv). False, with errno, if not all of them could be copied.
bool copy_across(pid_t pid, copy_direction direction, void* local, uint64_t remote, size_t size);

}  // namespace lci::net::shm

#endif  // LCI_NET_SHM_REGIONS_H_
