// The health of a device's peers, and the steps from the first sign of a failure to
// its report. Every backend that detects failures uses it.
#ifndef LCI_NET_PEER_HEALTH_H_
#define LCI_NET_PEER_HEALTH_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <forward_list>
#include <string>
#include <string_view>

#include "lci/base/cache_aligned.h"

namespace lci::net {

enum class peer_state : uint8_t {
  alive,        // operations can be posted to it
  unconnected,  // the way to it is not open yet; only where a backend connects on demand
  suspected,    // it seems to have failed; what it sent earlier is still to be read
  corrupt,      // it sent malformed bytes: it has failed, and nothing more of it is read
  left,         // it has ended its device: its bye was read
  failed,       // reported as failed
};

// Whether messages of a peer in this state are still read.
constexpr bool is_readable(peer_state state) { return state <= peer_state::suspected; }

// The polls between two reads of the clock for periodic checks.
constexpr uint32_t polls_between_checks = 256;

// A suspected or corrupt peer.
struct suspicion {
  int rank;
  std::string reason;                           // for log lines, such as "its process has ended"
  std::chrono::steady_clock::time_point since;  // the first sign of the failure
};

// The states of all peers of one device. The table has the state after an event ("-": unchanged):
//
//                  connected    suspect      corrupt    bye     confirm
//   unconnected    alive        suspected    corrupt    left    -
//   alive          -            suspected    corrupt    left    -
//   suspected      -            -            corrupt    left    failed, once settled and reported
//   corrupt        -            -            -          -       failed, once reported
//   left, failed   -            -            -          -       -
//
// A suspicion may be wrong in one way: the peer has ended its device, and its bye is among the
// messages that are still to be read. So a failure is confirmed only after these are read
// ("settled"), which each backend defines in its own way. A thread that posts sees a suspected
// peer as failed already.
//
// Posts are not excluded while a state changes: a post that has found a peer alive may still be in
// progress after the change. A backend whose posts must not be closes its send queues after the
// function that changed the state has returned true.
//
// Thread safety: state() may be called by any thread at any time; it is one load, since it is on
// the path of each message. All other members are called by one thread at a time, which polls.
//
// Orders: R1, the release of a new state, pairs with A1 of a thread that reads it.
class peer_health {
 public:
  using clock = std::chrono::steady_clock;

  // All `ranks` peers begin in state `first`, which is alive or unconnected. Log lines begin with
  // the name of the backend. `check_interval`: see check_due().
  peer_health(const char* backend, int ranks, peer_state first, clock::duration check_interval);

  peer_state state(int rank) const {
    return states_[static_cast<size_t>(rank)].load(std::memory_order_acquire);  // A1
  }
  bool is_alive(int rank) const { return state(rank) == peer_state::alive; }

  // The events of the table. Each returns whether it has changed the state. `reason` says what was
  // observed, with "it" or "its" for the peer; if it is empty, nothing is logged.
  bool connected(int rank);
  bool suspect(int rank, std::string_view reason);
  bool corrupt(int rank, std::string_view reason);
  bool bye(int rank);

  // Why the peer is suspected or corrupt, until its failure is confirmed. Else empty.
  std::string reason(int rank) const;

  // Whether confirm() has something to do: one load and a comparison.
  bool has_suspects() const { return !suspects_.empty(); }

  // Confirms the failures that can be confirmed now, in the order of suspicion.
  //
  // settled(const suspicion&) returns whether everything that a suspected peer sent earlier has
  // been read; it is not asked about a corrupt peer. It may read these messages itself, and so call
  // bye() or corrupt().
  //
  // report(rank) ends all operations in flight to the peer and delivers the completion of kind
  // peer_failed. If it returns false (there is no room now), it is called again by a later
  // confirm(). It is never called again after it has returned true. It may call suspect() for other
  // ranks.
  template <class Settled, class Report>
  void confirm(const Settled& settled, const Report& report) {
    for (auto before = suspects_.before_begin(), at = suspects_.begin(); at != suspects_.end();) {
      const int rank = at->rank;
      if ((state(rank) == peer_state::suspected && !settled(*at)) ||
          (is_awaiting(rank) && !report(rank))) {
        before = at++;
        continue;
      }
      if (is_awaiting(rank)) fail(*at);
      at = suspects_.erase_after(before);
    }
  }

  // Whether the periodic checks are due: returns the time since it last said so, or since the
  // construction, if that is at least `check_interval`; otherwise zero.
  clock::duration check_due(clock::time_point now);

 private:
  bool is_awaiting(int rank) const {
    const peer_state now = state(rank);
    return now == peer_state::suspected || now == peer_state::corrupt;
  }
  void set(int rank, peer_state next) {
    states_[static_cast<size_t>(rank)].store(next, std::memory_order_release);  // R1
  }
  bool add_suspect(int rank, peer_state next, std::string_view reason);
  void fail(const suspicion& confirmed);

  base::aligned_array<std::atomic<peer_state>> states_;  // by rank
  const char* const backend_;
  const clock::duration check_interval_;
  clock::time_point last_check_;
  // In the order of suspicion. Peers that have said bye since then stay until the next confirm().
  // (A forward_list needs only one load to find that it is empty.)
  std::forward_list<suspicion> suspects_;
};

}  // namespace lci::net

#endif  // LCI_NET_PEER_HEALTH_H_
