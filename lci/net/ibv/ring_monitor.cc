// Watching ranks that there is no connection with, where queue pairs are connected on first use.
//
// All ranks stand in a circle (monitor_ring.h), and neighbours are connected from the start: each
// feels the pulse of two, and two feel its own (failures.cc). The neighbours of a rank that has
// failed tell all the others, by datagrams and several times, since these may be lost; and they
// connect with the next in that direction, so that the circle is closed again. Who hails a rank
// that does not answer asks its neighbours as well. They say that it is lost, that it has ended its
// device, or that it is there: then it is waited for, however long it does not poll.
//
// All that needs one of the two neighbours to poll. A rank that was lost together with both is
// found by the next in the circle, when it has not answered for as long as a bootstrap waits.
//
// So who is told has to believe a rank that may be wrong: one that was cut off for a while takes
// those for failed who are alive. What limits that:
//   - Words only count about a rank that we are not connected with; who is connected feels for
//     itself.
//   - The words of a rank that we take for failed do not count. While it was cut off, its own
//     neighbours have told of it.
//   - It is told so: by the neighbours, and in answer to whatever it says to a rank that takes it
//     for failed. Then it takes that rank for failed, so that each of the two has its error and
//     neither waits for the other, and tells no more of anybody.
// What is left: if only the way between two neighbours is cut, both being alive, those who are
// connected with neither believe whom they hear first; two of them may believe differently.
#include <chrono>

#include "lci/base/log.h"
#include "lci/base/strings.h"
#include "lci/net/ibv/device.h"

namespace lci::net::ibv {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// All are told so often, with this between the first two rounds (as between pulses), and then twice
// as much each time: during 7.75 s. With one datagram of three lost, and both neighbours telling,
// one rank of half a million is not told.
constexpr int rounds = 6;
constexpr milliseconds first_pause{250};

}  // namespace

bool rdma_device::connects_at_start(int rank) const {
  const monitor_ring& all = context_.ring();
  return !on_demand_ || is_self(rank) || is_self(all.neighbor(rank, 1)) ||
         is_self(all.neighbor(rank, -1));
}

// From `rank` on, the first that has neither failed nor ended its device; it may be us, and is
// `rank` itself where there is no other.
int rdma_device::live_neighbor(int rank, int step) {
  for (int r = context_.ring().neighbor(rank, step);; r = context_.ring().neighbor(r, step)) {
    const peer_state state = peer_of(r).state.load(std::memory_order_relaxed);
    if (r == rank || (state != peer_state::failed && state != peer_state::ended)) return r;
  }
}

// A rank that ended its device leaves its neighbours unwatched from that side: devices end together
// or nearly so, and until then there is the other side. The first are told at once: the program may
// end when it hears of it.
void rdma_device::close_ring(int lost) {
  bool beside_us = false;
  for (const int step : {-1, 1}) {
    if (!is_self(live_neighbor(lost, -step))) continue;
    beside_us = true;
    if (const int next = live_neighbor(lost, step); !is_self(next)) begin_connecting(next);
  }
  if (!beside_us || is_cut_off_) return;
  failure_notices_.push_back({lost});
  send_failure_notices();
}

// As many as there is room for now.
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

// It is hailed again in any case, and so are they.
void rdma_device::query_neighbors(int rank) {
  for (const int step : {-1, 1}) {
    const int asked = live_neighbor(rank, step);
    if (!is_self(asked) && asked != rank) send_datagram(asked, connect_datagram_kind::query, rank);
  }
}

// From a rank that we do not take for failed.
void rdma_device::handle_report(const connect_datagram& got) {
  const auto from = static_cast<int>(got.rank);
  const auto about = static_cast<int>(got.about);
  if (is_self(about)) {
    is_cut_off_ = true;
    failure_notices_.clear();
    suspect(from, "it takes this rank for failed");
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
    suspect(about, base::StrCat("rank ", from, " says so"));
  // Of one that has our queue pairs, too, messages may be under way: it says so itself, behind
  // them.
  if (got.kind == connect_datagram_kind::ended && (from == about || !other.is_connected))
    handle_bye(about);
}

}  // namespace lci::net::ibv
