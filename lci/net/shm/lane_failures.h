#ifndef LCI_NET_SHM_LANE_FAILURES_H_
#define LCI_NET_SHM_LANE_FAILURES_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "lci/base/cache_aligned.h"

namespace lci::net::shm {

// The failed peers of a device, which its lanes announce to each other. When a lane has announced a
// failure, each lane reads what that peer sent through it earlier, ends its own operations with the
// peer, and settles. The last lane to settle reports the failure to the device's user.
//
// Thread safety: all members by any thread at any time; wait-free.
// Orders: F1 (release) of an announcement pairs with F2 (acquire) of a lane that reads the version.
// The lane that settles last sees what the others did before they settled (F3, acquire and release).
class lane_failures {
 public:
  lane_failures(int ranks, uint32_t lanes)
      : ranks_(base::make_aligned_array<entry>(static_cast<size_t>(ranks))) {
    for (int r = 0; r < ranks; ++r) at(r).unsettled.store(lanes, std::memory_order_relaxed);
  }

  // A later announcement of the same rank has no effect.
  void announce(int rank) {
    if (at(rank).is_announced.exchange(true, std::memory_order_relaxed)) return;
    pending_.fetch_add(1, std::memory_order_relaxed);
    version_.fetch_add(1, std::memory_order_release);  // F1
  }
  // Changes with each announcement; 0 at first.
  uint32_t version() const { return version_.load(std::memory_order_acquire); }  // F2
  bool is_announced(int rank) const {
    return at(rank).is_announced.load(std::memory_order_relaxed);
  }

  // A lane settles with an announced rank, once. True for the last lane.
  bool settle(int rank) {
    if (at(rank).unsettled.fetch_sub(1, std::memory_order_acq_rel) != 1) return false;  // F3
    pending_.fetch_sub(1, std::memory_order_relaxed);
    return true;
  }
  // Whether lanes have still to settle with a rank.
  bool is_pending() const { return pending_.load(std::memory_order_relaxed) != 0; }

 private:
  struct entry {
    std::atomic<bool> is_announced{false};
    std::atomic<uint32_t> unsettled{0};
  };
  entry& at(int rank) const { return ranks_[static_cast<size_t>(rank)]; }

  const base::aligned_array<entry> ranks_;
  std::atomic<uint32_t> version_{0};
  std::atomic<uint32_t> pending_{0};
};

}  // namespace lci::net::shm

#endif  // LCI_NET_SHM_LANE_FAILURES_H_
