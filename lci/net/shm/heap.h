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

// This rank's blocks, one for each allocation. They live until the heap ends: what is freed gives
// its pages back to the system at once, but stays as an empty block for the next allocation of that
// size. So a view that a peer has of it never goes stale, and peers need not be asked before memory
// is freed.
//
// Usually each block has a segment for itself, which peers open by its name. A peer that this rank
// is hidden from may open nothing by its name. For it, all blocks lie in one large segment, the
// reserve, whose descriptor the peer was passed at the start.
//
// Thread safety: every member by any thread at any time; blocks for the others, and for the system.
class segment_heap {
 public:
  struct block {
    unsigned char* data = nullptr;  // zero bytes; its address is a multiple of a page
    uint64_t backing = 0;           // names the block in a region_slot; 0: peers can't map it
  };

  // Before any allocation. `token`: by which peers know that a file is a segment of this heap.
  void attach(uint64_t token) { token_ = token; }
  // Before any allocation, by all ranks of a host or by none. The reserve takes `bytes` of the
  // addresses of this process and of each peer, and memory only for what is used. Peers can't map
  // the blocks that find no room in it.
  base::Status make_reserve(size_t bytes);

  // At least `size` bytes. Without a reserve, takes one file descriptor for as many allocations as
  // there ever were at a time.
  base::StatusOr<block> allocate(size_t size);
  void free(const block& freed);

  // The segment of the block with this number, for a rank that is a thread of this process; null:
  // there is none.
  std::shared_ptr<segment> share(int32_t number);
  // Null: there is none.
  const std::shared_ptr<segment>& reserve() const { return reserve_; }

 private:
  struct entry {
    unsigned char* data = nullptr;
    uint64_t pages = 0;
    uint64_t backing = 0;
    std::shared_ptr<segment> memory;
    bool used = false;
  };

  base::StatusOr<entry> make_entry(uint64_t pages);

  uint64_t token_ = 0;
  std::shared_ptr<segment> reserve_;
  std::mutex mutex_;
  std::vector<entry> entries_;   // guarded by mutex_
  uint64_t reserved_pages_ = 1;  // guarded by mutex_: those in use, from the first one on
};

// The blocks of another rank that this one has mapped, each when it was first used.
//
// Thread safety: every member by any thread at any time. find is wait-free but for a block's first
// use, which makes system calls, and blocks for another's.
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
  segment_heap* of_thread() const { return of_thread_; }
  // Variant of find for an owner with a reserve, which is mapped already; it begins at `address` in
  // the process of its owner.
  void attach(std::shared_ptr<segment> reserve, uint64_t address);

  // Where the block begins that the other rank's directory names so, and that begins at `address`
  // in that rank's process. Null if there is no such block, or it cannot be mapped; then it is not
  // tried again.
  unsigned char* find(uint64_t backing, uint64_t address) {
    const view* known = find_view(backing);
    if (__builtin_expect(known == nullptr, 0)) known = open(backing, address);
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
    unsigned char* data = nullptr;  // of the block; null: it can't be mapped
    std::shared_ptr<segment> memory;
  };

  const view* find_view(uint64_t backing) const {
    const view* const there = views_.get(static_cast<size_t>(number_of(backing)));
    return there != nullptr && there->backing == backing ? there : nullptr;
  }
  const view* open(uint64_t backing, uint64_t address);
  base::StatusOr<std::shared_ptr<segment>> map(uint64_t backing) const;
  base::StatusOr<view> find_reserved(uint64_t backing, uint64_t address) const;
  base::StatusOr<view> make_view(uint64_t backing, uint64_t address) const;

  segment_heap* of_thread_ = nullptr;
  int64_t pid_ = 0;
  uint64_t token_ = 0;
  std::shared_ptr<segment> reserve_;
  uint64_t reserve_address_ = 0;
  ds::mpmc_array<const view*> views_;  // by number
  std::mutex mutex_;
  std::vector<std::unique_ptr<view>> all_;  // guarded by mutex_
};

}  // namespace lci::net::shm

#endif  // LCI_NET_SHM_HEAP_H_
