#ifndef LCI_NET_IBV_HEARTBEATS_H_
#define LCI_NET_IBV_HEARTBEATS_H_

#include <chrono>
#include <cstdint>
#include <vector>

#include "lci/base/status.h"
#include "lci/net/ibv/peer_table.h"

namespace lci::net::ibv {

// The part of the connections that heartbeats use.
class heartbeat_links {
 public:
  // Posts an empty write to the heartbeat queue pair of `rank`. Returns false if that failed.
  virtual bool post_heartbeat(int rank) = 0;
  // Resets and connects that queue pair, which a heartbeat without an answer has broken. `answered`
  // heartbeats were answered before.
  virtual base::Status reset_heartbeat_qp(int rank, uint32_t answered) = 0;

 protected:
  ~heartbeat_links() = default;
};

// The failure detector for connected ranks. (Ranks that are not connected: ring_monitor.h.)
//
// Each rank is sent a heartbeat once per `interval`: an empty write, which the rank's device
// answers even if the rank itself is busy. If no answer arrives, the heartbeat is repeated at once,
// since an overloaded machine is silent for a while, too. A rank is suspected when min_misses
// heartbeats in a row were not answered for failure_timeout or longer. So a failed rank is detected
// after failure_timeout to 2 s, 0.3 s of these for the last heartbeat (resources.cc).
//
// Thread safety: none.
class heartbeats {
 public:
  using clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds interval{250};
  static constexpr std::chrono::milliseconds failure_timeout{1400};
  // Fewer misses in that time mean that this rank has not polled.
  static constexpr int min_misses = 5;

  // The arguments outlive this object.
  heartbeats(peer_table& peers, heartbeat_links& links)
      : peers_(peers), links_(links), records_(static_cast<size_t>(peers.ranks())) {}

  // Sends the heartbeats that are due, `passed` after the last call: all ranks are probed once per
  // interval, however rarely this rank polls.
  void send_due(clock::duration passed, clock::time_point now);
  // Processes the completion of the heartbeat to `rank`.
  void handle(int rank, bool answered, clock::time_point now);

 private:
  struct record {
    bool is_pending = false;  // a heartbeat is in flight
    uint32_t answered = 0;
    int misses = 0;                  // heartbeats unanswered since the last answer
    clock::time_point silent_since;  // when the first of these was sent
  };

  // This rank ends its device with a bye, and then probes the peer no longer.
  bool is_probed(int rank) const { return peers_.is_alive(rank) && !peers_.has_said_bye(rank); }
  void send(int rank, clock::time_point now);

  peer_table& peers_;
  heartbeat_links& links_;
  std::vector<record> records_;  // by rank
  int next_ = 0;                 // the rank that is probed next
};

}  // namespace lci::net::ibv

#endif  // LCI_NET_IBV_HEARTBEATS_H_
