#ifndef LCI_NET_IBV_WANTED_CONNECTIONS_H_
#define LCI_NET_IBV_WANTED_CONNECTIONS_H_

#include <atomic>
#include <memory>

#include "lci/api/types.hpp"
#include "lci/base/wakeup.h"
#include "lci/net/peer_health.h"

namespace lci::net::ibv {

// The peers that posts have found unconnected. Posts add them, and the polling thread connects
// them.
class wanted_connections {
 public:
  explicit wanted_connections(int ranks)
      : ranks_(ranks), wanted_(new std::atomic<bool>[static_cast<size_t>(ranks)]()) {}

  // Returns the answer to a post to a peer in `state` whose send queue does not admit it. Requests
  // a connection if there is none yet, and wakes the thread that sleeps on the device. Any thread.
  error_t refuse(int rank, peer_state state) {
    if (state == peer_state::unconnected) want(rank);
    return state <= peer_state::unconnected ? errorcode_t::retry_nomem : errorcode_t::fatal;
  }
  // Any thread.
  bool any() const { return any_.load(std::memory_order_relaxed); }
  // Calls f(rank) for each peer that was ever wanted, if one was added since the last call. By the
  // polling thread.
  template <class F>
  void take(const F& f) {
    if (!any_.exchange(false, std::memory_order_acquire)) return;
    for (int r = 0; r < ranks_; ++r) {
      if (wanted_[static_cast<size_t>(r)].load(std::memory_order_relaxed)) f(r);
    }
  }

  base::wakeup sleeper;  // open: a thread may sleep on the device

 private:
  void want(int rank) {
    std::atomic<bool>& wanted = wanted_[static_cast<size_t>(rank)];
    if (wanted.load(std::memory_order_relaxed)) return;
    wanted.store(true, std::memory_order_relaxed);
    any_.store(true, std::memory_order_release);
    sleeper.wake();
  }

  const int ranks_;
  std::unique_ptr<std::atomic<bool>[]> wanted_;  // by rank
  std::atomic<bool> any_{false};
};

}  // namespace lci::net::ibv

#endif  // LCI_NET_IBV_WANTED_CONNECTIONS_H_
