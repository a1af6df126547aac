// The failure detector for ranks that are not connected, where queue pairs are connected on demand.
//
// All ranks form a ring (monitor_ring.h) whose neighbors are connected from the start: each rank
// sends heartbeats to two neighbors, and two neighbors send it theirs (failures.cc). A rank whose
// ring neighbor fails notifies all other ranks by datagrams, several times, since datagrams may be
// lost. It also connects with the next live rank in that direction, so that the ring is closed
// again. A rank whose connection requests get no reply queries the ring neighbors of the silent
// rank. They report that it has failed, has ended its device, or is alive; if it is alive, the
// requester waits for it, however long it does not poll.
//
// Detection needs one of the two neighbors to poll. If a rank fails together with both of its
// neighbors, the next rank in the ring detects its failure when the bootstrap's timeout has passed
// without a reply.
//
// A notified rank has to believe a rank that may be wrong: a rank that was cut off for a while
// takes live ranks for failed. Three rules limit the damage:
//   - Reports only count about a rank that the receiver is not connected with; a connected rank is
//     probed by the receiver's own heartbeats.
//   - Reports of a rank that the receiver has declared failed do not count. While a rank is cut
//     off, its own neighbors report it.
//   - The failed rank itself is notified: by its neighbors, and in answer to anything it sends to a
//     rank that has declared it failed. It then declares that rank failed, so that each of the two
//     has its error and neither waits for the other, and it reports no further failures.
// One case remains: if only the path between two live neighbors is cut, ranks that are connected
// with neither believe the first report that arrives, and two such ranks may believe different
// ones.
#include <chrono>

#include "lci/base/log.h"
#include "lci/base/strings.h"
#include "lci/net/ibv/device.h"

namespace lci::net::ibv {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Rounds of notices to all ranks. The first pause between two rounds equals the heartbeat interval,
// and each later one is twice as long: 7.75 s in total. With one of three datagrams lost, and both
// neighbors sending notices, one rank in half a million is not notified.
constexpr int rounds = 6;
constexpr milliseconds first_pause{250};

}  // namespace

bool rdma_device::connects_at_start(int rank) const {
  const monitor_ring& all = context_.ring();
  return !on_demand_ || is_self(rank) || is_self(all.neighbor(rank, 1)) ||
         is_self(all.neighbor(rank, -1));
}

// The first rank after `rank` in direction `step` that has neither failed nor ended its device. It
// may be this rank. Returns `rank` if there is no other.
int rdma_device::live_neighbor(int rank, int step) {
  for (int r = context_.ring().neighbor(rank, step);; r = context_.ring().neighbor(r, step)) {
    const peer_state state = peer_of(r).state.load(std::memory_order_relaxed);
    if (r == rank || (state != peer_state::failed && state != peer_state::ended)) return r;
  }
}

// Connects the ring around a failed neighbor and starts to notify all ranks, the first of them at
// once: the program may end when it learns of the failure. A rank that ends its device leaves its
// neighbors unmonitored from that side: devices end nearly at the same time, and until then the
// other side monitors them.
void rdma_device::close_ring(int lost) {
  bool is_neighbor = false;
  for (const int step : {-1, 1}) {
    if (!is_self(live_neighbor(lost, -step))) continue;
    is_neighbor = true;
    if (const int next = live_neighbor(lost, step); !is_self(next)) begin_connecting(next);
  }
  if (!is_neighbor || is_cut_off_) return;
  failure_notices_.push_back({lost});
  send_failure_notices();
}

// Sends as many notices as there is room for now.
void rdma_device::send_failure_notices() {
  const auto now = steady_clock::now();
  for (size_t i = 0; i < failure_notices_.size();) {
    failure_notice& each = failure_notices_[i];
    for (; now >= each.due && each.next < ranks_; ++each.next) {
      const peer_state state = peer_of(each.next).state.load(std::memory_order_relaxed);
      const bool listens = state == peer_state::unconnected || state == peer_state::alive;
      if (is_self(each.next) || (!listens && each.next != each.rank)) continue;
      if (!send_datagram(each.next, connect_datagram_kind::failed, each.rank)) return;
    }
    if (each.next == ranks_) {
      each.next = 0;
      each.due = now + first_pause * (1 << each.rounds);
      ++each.rounds;
    }
    if (each.rounds < rounds) {
      ++i;
    } else {
      failure_notices_.erase(failure_notices_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
}

// Queries the live ring neighbors of a rank that does not reply. Lost queries need no repetition:
// each repeated connection request is followed by another query.
void rdma_device::query_neighbors(int rank) {
  for (const int step : {-1, 1}) {
    const int asked = live_neighbor(rank, step);
    if (!is_self(asked) && asked != rank) send_datagram(asked, connect_datagram_kind::query, rank);
  }
}

// Handles a report or query from a rank that is not declared failed.
void rdma_device::handle_report(const connect_datagram& got) {
  const auto from = static_cast<int>(got.rank);
  const auto about = static_cast<int>(got.about);
  if (is_self(about)) {
    is_cut_off_ = true;
    failure_notices_.clear();
    suspect(from, "it has declared this rank failed");
    return;
  }
  peer& other = peer_of(about);
  const peer_state state = other.state.load(std::memory_order_relaxed);
  if (got.kind == connect_datagram_kind::query) {
    if (state == peer_state::alive) send_datagram(from, connect_datagram_kind::alive, about);
    if (state == peer_state::failed) send_datagram(from, connect_datagram_kind::failed, about);
    if (state == peer_state::ended) send_datagram(from, connect_datagram_kind::ended, about);
    return;
  }
  if (state != peer_state::unconnected) return;
  if (got.kind == connect_datagram_kind::alive)
    other.deadline = steady_clock::now() + connect_timeout_;
  if (got.kind == connect_datagram_kind::failed)
    suspect(about, base::StrCat("reported by rank ", from));
  // Messages of a rank that has our queue pairs may be in flight: it sends its own bye behind them.
  if (got.kind == connect_datagram_kind::ended && (from == about || !other.is_connected))
    handle_bye(about);
}

}  // namespace lci::net::ibv
