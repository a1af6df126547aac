#include "lci/net/shm/regions.h"

#include <sys/uio.h>

#include <algorithm>
#include <cstring>

#include "lci/base/backoff.h"
#include "lci/base/check.h"
#include "lci/base/log.h"
#include "lci/base/status.h"
#include "lci/base/strings.h"
#include "lci/base/thread_number.h"

namespace lci::net::shm {

// Orders of a slot. Its owner closes it with key = 0, and opens it by storing base, size and
// backing (release, R1), then key (release, R2). A peer loads key (acquire, A2 pairs with R2), the
// others (acquire, A1 pairs with R1), then key again. If both times it is the key that the peer was
// given, the others are of that registration: had they been those of a later one, A1 would have
// made the key = 0 before it visible to the second look, and keys are never given twice. (Those
// given by rename may be: then only who asks for memory that is closed is misled.)

void report_closed_memory(int rank) {
  LCI_LOG(error, "a put of rank ", rank, " came for memory that was closed meanwhile");
}

region_table::user::user(region_table& table) : table_(table) {
  const std::lock_guard<std::mutex> guard(table_.users_mutex_);
  table_.users_.push_back(this);
}

region_table::user::~user() {
  const std::lock_guard<std::mutex> guard(table_.users_mutex_);
  table_.users_.erase(std::find(table_.users_.begin(), table_.users_.end(), this));
}

void region_table::wait_for_users(uint32_t index) {
  const std::lock_guard<std::mutex> guard(users_mutex_);
  for (const user* one : users_) {
    base::backoff waiting;
    while (one->hazard_.protects(index)) waiting.idle();
  }
}

void region_table::attach(region_slot* slots, uint64_t first_key) {
  slots_ = slots;
  marks_ = std::vector<ds::hazard_mark>(directory_capacity);
  for (size_t i = 0; i < stripes; ++i) stripes_[i].next_key = first_key + i;
}

bool region_table::try_open(size_t in, const void* address, size_t size, uint64_t backing,
                            local_region* made) {
  stripe& own = stripes_[in];
  const std::lock_guard<std::mutex> guard(own.mutex);
  size_t index;
  if (!own.free.empty()) {
    index = own.free.back();
    own.free.pop_back();
  } else if (own.used < directory_capacity / stripes) {
    index = slot_at(in, own.used++);
    if (own.free.capacity() < own.used) own.free.reserve(2 * size_t{own.used});  // for close
  } else {
    return false;
  }
  if (own.next_key == 0) own.next_key += stripes;
  region_slot& slot = slots_[index];
  slot.base.store(reinterpret_cast<uintptr_t>(address), std::memory_order_release);  // R1
  slot.size.store(size, std::memory_order_release);                                  // R1
  slot.backing.store(backing, std::memory_order_release);                            // R1
  slot.key.store(own.next_key, std::memory_order_release);                           // R2
  own.next_key += stripes;
  *made = local_region{index + uint64_t{1}};
  return true;
}

base::StatusOr<local_region> region_table::open(const void* address, size_t size,
                                                uint64_t backing) {
  if (size > max_region_size) {
    return base::InvalidArgumentError(base::StrCat(
        size, " bytes are registered at once; the shm backend has room for ", max_region_size));
  }
  local_region made;
  const size_t first = base::thread_number() % stripes;
  for (size_t i = 0; i < stripes; ++i) {
    if (try_open((first + i) % stripes, address, size, backing, &made)) return made;
  }
  return base::ResourceExhaustedError(
      base::StrCat(directory_capacity,
                   " memory regions are registered; deregister some, or send less at a time"));
}

void region_table::close(local_region region) {
  const size_t index = region.handle - 1;
  stripe& home = stripe_of(index);
  const std::lock_guard<std::mutex> guard(home.mutex);
  checked(index).key.store(0, std::memory_order_relaxed);
  if (marks_[index].must_wait()) wait_for_users(static_cast<uint32_t>(index));
  home.free.push_back(static_cast<uint32_t>(index));
}

void region_table::close_all() {
  for (size_t i = 0; i < stripes; ++i) {
    const std::lock_guard<std::mutex> guard(stripes_[i].mutex);
    for (uint32_t nth = 0; nth < stripes_[i].used; ++nth) {
      slots_[slot_at(i, nth)].key.store(0, std::memory_order_relaxed);
    }
  }
}

void region_table::rename(local_region region, uint64_t key) {
  const size_t index = region.handle - 1;
  const std::lock_guard<std::mutex> guard(stripe_of(index).mutex);
  checked(index).key.store(key, std::memory_order_release);  // R2
}

remote_region region_table::remote(local_region region) const {
  // Without the lock: the caller was given the registration when it was open, and has not closed
  // it. So threads on different devices may name registrations that one thread has made.
  const size_t index = region.handle - 1;
  return {index, checked(index).key.load(std::memory_order_relaxed)};
}

region_slot& region_table::checked(size_t index) const {
  LCI_CHECK(index < directory_capacity && slots_[index].key.load(std::memory_order_relaxed) != 0,
            "local_region ", index + 1, " is not registered");
  return slots_[index];
}

void copy_within(copy_direction direction, void* local, uint64_t remote, size_t size) {
  if (size == 0) return;
  void* there = reinterpret_cast<void*>(static_cast<uintptr_t>(remote));
  if (direction == copy_direction::to_peer) {
    std::memmove(there, local, size);
  } else {
    std::memmove(local, there, size);
  }
}

bool copy_across(pid_t pid, copy_direction direction, void* local, uint64_t remote, size_t size) {
  size_t done = 0;
  while (done < size) {
    ::iovec here{static_cast<char*>(local) + done, size - done};
    ::iovec there{reinterpret_cast<void*>(static_cast<uintptr_t>(remote + done)), size - done};
    const ssize_t n = direction == copy_direction::to_peer
                          ? process_vm_writev(pid, &here, 1, &there, 1, 0)
                          : process_vm_readv(pid, &here, 1, &there, 1, 0);
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

}  // namespace lci::net::shm
