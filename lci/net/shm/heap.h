// Memory that a rank allocates through us, and that the others map: puts and gets to it are copies
// within one process.
#ifndef LCI_NET_SHM_HEAP_H_
#define LCI_NET_SHM_HEAP_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "lci/base/status.h"
#include "lci/ds/mpmc_array.h"
#include "lci/net/shm/segment.h"
#include "lci/net/shm/wire.h"

namespace lci::net::shm {

// This rank's segments. Each holds one allocation behind its first page. They live until the heap
// ends: what is freed gives its pages back to the system at once, but stays as an empty segment for
// the next allocation of that size. So a view that a peer has of it never goes stale, and peers
// need not be asked before memory is freed.
//
// Thread safety: every member by any thread at any time; blocks for the others, and for the system.
class segment_heap {
 public:
  struct block {
    unsigned char* data = nullptr;  // zero bytes; its address is a multiple of a page
    uint64_t backing = 0;           // names the segment in a region_slot
  };

  // Before any allocation. `token`: by which peers know that a file is a segment of this heap.
  void attach(uint64_t token) { token_ = token; }

  // At least `size` bytes. Takes one file descriptor for as many allocations as there ever were at
  // a time.
  base::StatusOr<block> allocate(size_t size);
  void free(const block& freed);

  // The segment with this descriptor, for a rank that is a thread of this process; null: there is
  // none.
  std::shared_ptr<segment> share(int32_t descriptor);

 private:
  struct entry {
    std::shared_ptr<segment> memory;
    bool used = false;
  };

  uint64_t token_ = 0;
  std::mutex mutex_;
  std::vector<entry> segments_;  // guarded by mutex_
};

// The segments of another rank that this one has mapped, each when it was first used.
//
// Thread safety: every member by any thread at any time. find is wait-free but for a segment's
// first use, which makes system calls, and blocks for another's.
class heap_views {
 public:
  // Names the owner: its process as /proc numbers it, and the token of its heap.
  void attach(int64_t pid, uint64_t token) {
    pid_ = pid;
    token_ = token;
  }
  // Variant of find for a rank that is a thread of this process: both use one mapping, which lives
  // as long as either rank uses it. Race detectors go by the address, and would not see the order
  // that the ranks make through memory with two. The heap lives while find() is called.
  void attach(segment_heap* of_thread) { of_thread_ = of_thread; }

  // Where the block begins that the other rank's directory names so. Null if there is no such
  // segment, or it cannot be mapped; then it is not tried again.
  unsigned char* find(uint64_t backing) {
    const view* known = find_view(backing);
    if (__builtin_expect(known == nullptr, 0)) known = open(backing);
    return known->data;
  }
  // The same, but null if find() never was asked for it: makes no call.
  unsigned char* find_known(uint64_t backing) const {
    const view* const known = find_view(backing);
    return __builtin_expect(known != nullptr, 1) ? known->data : nullptr;
  }

 private:
  struct view {
    uint64_t backing = 0;
    unsigned char* data = nullptr;  // of the block
    std::shared_ptr<segment> memory;
  };

  const view* find_view(uint64_t backing) const {
    const view* const there = views_.get(static_cast<size_t>(descriptor_of(backing)));
    return there != nullptr && there->backing == backing ? there : nullptr;
  }
  const view* open(uint64_t backing);
  base::StatusOr<std::shared_ptr<segment>> map(uint64_t backing) const;

  segment_heap* of_thread_ = nullptr;
  int64_t pid_ = 0;
  uint64_t token_ = 0;
  ds::mpmc_array<const view*> views_;  // by descriptor
  std::mutex mutex_;
  std::vector<std::unique_ptr<view>> all_;  // guarded by mutex_
};

}  // namespace lci::net::shm

#endif  // LCI_NET_SHM_HEAP_H_
