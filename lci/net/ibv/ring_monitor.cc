#include "lci/net/ibv/ring_monitor.h"

#include <algorithm>
#include <cstddef>

#include "lci/base/strings.h"

namespace lci::net::ibv {
namespace {

// Rounds of notices to all ranks. The first pause between two rounds equals the heartbeat interval,
// and each later one is twice as long: 7.75 s in total. With one of three datagrams lost, and both
// neighbors sending notices, one rank in half a million is not notified.
constexpr int rounds = 6;
constexpr std::chrono::milliseconds first_pause{250};

}  // namespace

// The first rank after `rank` in direction `step` that has neither failed nor ended its device. It
// may be this rank. Returns `rank` if there is no other.
int ring_monitor::live_neighbor(int rank, int step) const {
  for (int r = ring_.neighbor(rank, step);; r = ring_.neighbor(r, step)) {
    const peer_state state = peers_.state(r);
    if (r == rank || (state != peer_state::failed && state != peer_state::left)) return r;
  }
}

void ring_monitor::close_ring(int lost, clock::time_point now) {
  bool is_neighbor = false;
  for (const int step : {-1, 1}) {
    if (!peers_.is_self(live_neighbor(lost, -step))) continue;
    is_neighbor = true;
    if (const int next = live_neighbor(lost, step); !peers_.is_self(next)) {
      links_.begin_connecting(next);
    }
  }
  if (!is_neighbor || is_cut_off_) return;
  notices_.push_back({lost});
  send_notices(now);
}

void ring_monitor::send_notices(clock::time_point now) {
  for (size_t i = 0; i < notices_.size();) {
    notice& each = notices_[i];
    for (; now >= each.due && each.next < peers_.ranks(); ++each.next) {
      const bool listens = peers_.state(each.next) <= peer_state::unconnected;
      if (peers_.is_self(each.next) || (!listens && each.next != each.rank)) continue;
      if (!links_.send_datagram(each.next, connect_datagram_kind::failed, each.rank)) return;
    }
    if (each.next == peers_.ranks()) {
      each.next = 0;
      each.due = now + first_pause * (1 << each.rounds);
      ++each.rounds;
    }
    if (each.rounds < rounds) {
      ++i;
    } else {
      notices_.erase(notices_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
}

bool ring_monitor::has_notified_all() const {
  return std::none_of(notices_.begin(), notices_.end(),
                      [](const notice& each) { return each.rounds == 0; });
}

void ring_monitor::query_neighbors(int rank) {
  for (const int step : {-1, 1}) {
    const int asked = live_neighbor(rank, step);
    if (peers_.is_self(asked) || asked == rank) continue;
    links_.send_datagram(asked, connect_datagram_kind::query, rank);
  }
}

void ring_monitor::set_cut_off() {
  is_cut_off_ = true;
  notices_.clear();
}

void ring_monitor::handle(const connect_datagram& got) {
  const auto from = static_cast<int>(got.rank);
  const auto about = static_cast<int>(got.about);
  if (peers_.is_self(about)) {
    set_cut_off();
    peers_.suspect(from, "it has declared this rank failed");
    return;
  }
  const peer_state state = peers_.state(about);
  if (got.kind == connect_datagram_kind::query) {
    const auto answer = [&](connect_datagram_kind kind) {
      links_.send_datagram(from, kind, about);
    };
    if (state == peer_state::alive) answer(connect_datagram_kind::alive);
    if (state == peer_state::failed) answer(connect_datagram_kind::failed);
    if (state == peer_state::left) answer(connect_datagram_kind::ended);
    return;
  }
  if (state != peer_state::unconnected) return;
  if (got.kind == connect_datagram_kind::alive) links_.put_off_deadline(about);
  if (got.kind == connect_datagram_kind::failed) {
    peers_.suspect(about, base::StrCat("reported by rank ", from));
  }
  // Messages of a rank that has our queue pairs may be in flight: it sends its own bye behind them.
  if (got.kind == connect_datagram_kind::ended && (from == about || !links_.is_connected(about))) {
    peers_.bye(about);
    links_.stop(about);
  }
}

}  // namespace lci::net::ibv
