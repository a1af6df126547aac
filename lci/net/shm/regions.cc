#include "lci/net/shm/regions.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace lci::net::shm {

// Orders of a slot: the owner stores base and size, then key (release, R3); when it closes, key =
// 0, before the slot can be opened again. A peer loads key (acquire, A3 pairs with R3), then base
// and size, then key again: if both are the key it was given, base and size are of that
// registration, since keys are never reused.

absl::StatusOr<local_region> region_table::open(const void* address, size_t size) {
  const std::lock_guard<std::mutex> guard(mutex_);
  uint32_t index;
  if (!free_.empty()) {
    index = free_.back();
    free_.pop_back();
  } else if (used_ < directory_capacity) {
    index = used_++;
    free_.reserve(used_);  // room for all, so that close can't fail
  } else {
    return absl::ResourceExhaustedError(
        absl::StrCat(directory_capacity,
                     " memory regions are registered; deregister some, or send less at a time"));
  }
  region_slot& slot = slots_[index];
  slot.base.store(reinterpret_cast<uintptr_t>(address), std::memory_order_relaxed);
  slot.size.store(size, std::memory_order_relaxed);
  slot.key.store(next_key_++, std::memory_order_release);  // R3
  return local_region{index + uint64_t{1}};
}

void region_table::close(local_region region) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto index = static_cast<uint32_t>(region.handle - 1);
  slots_[index].key.store(0, std::memory_order_seq_cst);
  free_.push_back(index);
}

remote_region region_table::remote(local_region region) const {
  const uint64_t index = region.handle - 1;
  return {index, slots_[index].key.load(std::memory_order_relaxed)};
}

uint64_t find_remote(const region_slot* slots, remote_region region, uint64_t offset, size_t size) {
  if (region.base >= directory_capacity || region.key == 0) return 0;
  const region_slot& slot = slots[region.base];
  if (slot.key.load(std::memory_order_acquire) != region.key) return 0;  // A3
  const uint64_t base = slot.base.load(std::memory_order_acquire);
  const uint64_t length = slot.size.load(std::memory_order_acquire);
  if (slot.key.load(std::memory_order_relaxed) != region.key) return 0;
  if (offset > length || size > length - offset) return 0;
  return base + offset;
}

bool copy_across(pid_t pid, copy_direction direction, void* local, uint64_t remote, size_t size) {
  // Ranks may be threads of one process.
  if (pid == getpid()) {
    void* there = reinterpret_cast<void*>(static_cast<uintptr_t>(remote));
    if (direction == copy_direction::to_peer) {
      std::memcpy(there, local, size);
    } else {
      std::memcpy(local, there, size);
    }
    return true;
  }
  size_t done = 0;
  while (done < size) {
    iovec here{static_cast<char*>(local) + done, size - done};
    iovec there{reinterpret_cast<void*>(static_cast<uintptr_t>(remote + done)), size - done};
    const ssize_t n = direction == copy_direction::to_peer
                          ? process_vm_writev(pid, &here, 1, &there, 1, 0)
                          : process_vm_readv(pid, &here, 1, &there, 1, 0);
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

}  // namespace lci::net::shm
