// Connecting on demand. A rank that wants to post to a peer sends it connection requests until the
// peer replies. A rank that receives a request replies, and sends requests of its own until it has
// a reply. So each side knows that the other's queue pairs are connected before it posts, whichever
// datagrams are lost, and even if both sides begin concurrently.
#include <algorithm>
#include <chrono>
#include <mutex>

#include "lci/base/log.h"
#include "lci/net/ibv/device.h"

namespace lci::net::ibv {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds first_pause{5};
constexpr milliseconds longest_pause{200};
// Polls between two checks for datagrams while no rank wants a connection.
constexpr uint32_t polls_between_connect_checks = 64;

}  // namespace

// Called by a post; the polling thread makes the connection.
void rdma_device::want_connection(peer& to) {
  if (to.connection_wanted.load(std::memory_order_relaxed)) return;
  to.connection_wanted.store(true, std::memory_order_relaxed);
  any_connection_wanted_.store(true, std::memory_order_release);
  sleeper_.wake();
}

void rdma_device::connect_on_demand() {
  const bool any = any_connection_wanted_.load(std::memory_order_relaxed);
  const bool look = polls_ % polls_between_connect_checks == 0;
  if (look) context_.answer_datagrams_except(*this);
  if (look || any || !connecting_.empty()) advance_connections(any);
}

void rdma_device::answer_datagrams() {
  if (!lock_.try_lock()) return;  // another thread polls this device
  const std::lock_guard<ds::spinlock> guard(lock_, std::adopt_lock);
  advance_connections(any_connection_wanted_.load(std::memory_order_relaxed));
}

void rdma_device::advance_connections(bool any_wanted) {
  if (any_wanted && any_connection_wanted_.exchange(false, std::memory_order_acquire)) {
    for (int r = 0; r < ranks_; ++r) {
      if (peer_of(r).connection_wanted.load(std::memory_order_relaxed)) begin_connecting(r);
    }
  }
  own_->datagrams.receive([&](const connect_datagram& got) { handle_datagram(got); });
  if (!failure_notices_.empty()) send_failure_notices();
  if (connecting_.empty()) return;
  const auto now = steady_clock::now();
  for (size_t i = 0; i < connecting_.size();) {
    const int rank = connecting_[i];
    peer& other = peer_of(rank);
    if (other.state.load(std::memory_order_relaxed) == peer_state::unconnected) {
      if (now >= other.next_request && send_datagram(rank, connect_datagram_kind::request, rank)) {
        if (other.pause > milliseconds::zero()) query_neighbors(rank);
        other.pause = std::min(std::max(2 * other.pause, first_pause), longest_pause);
        other.next_request = now + other.pause;
      }
      if (now > other.deadline) suspect(rank, "it does not answer");
      if (other.state.load(std::memory_order_relaxed) == peer_state::unconnected) {
        ++i;
        continue;
      }
    }
    connecting_[i] = connecting_.back();
    connecting_.pop_back();
  }
}

void rdma_device::begin_connecting(int rank) {
  peer& other = peer_of(rank);
  if (other.has_queue_pairs ||
      other.state.load(std::memory_order_relaxed) != peer_state::unconnected) {
    return;
  }
  other.has_queue_pairs = true;
  if (base::Status status = own_->make_connection(rank); !status.ok()) {
    suspect(rank, std::string(status.message()));
    return;
  }
  moved_ = true;
  other.deadline = steady_clock::now() + connect_timeout_;
  other.next_request = steady_clock::time_point();
  connecting_.push_back(rank);
}

// Returns false if there is no room now.
bool rdma_device::send_datagram(int to, connect_datagram_kind kind, int about) {
  connect_datagram datagram = {};
  datagram.version = wire_version;
  datagram.kind = kind;
  datagram.rank = static_cast<uint32_t>(context_.rank());
  datagram.about = static_cast<uint32_t>(about);
  if (kind == connect_datagram_kind::request || kind == connect_datagram_kind::reply) {
    datagram.numbers = own_->connection_of(to).numbers();
  }
  const offer& remote = peer_of(to).offered;
  return own_->datagrams.send(context_.address_handle(to), remote.datagram_qp, remote.datagram_key,
                              datagram);
}

void rdma_device::handle_datagram(const connect_datagram& got) {
  if (!is_valid(got, ranks_, context_.rank())) {
    LCI_LOG(warn, "ibv: dropped a datagram that is not of this job");
    return;
  }
  const auto rank = static_cast<int>(got.rank);
  const peer_state state = peer_of(rank).state.load(std::memory_order_relaxed);
  const bool declares_us_failed =
      got.kind == connect_datagram_kind::failed && is_self(static_cast<int>(got.about));
  // We have declared this peer failed. Notify it, so that it also fails us and neither side waits.
  if (state == peer_state::failed && !declares_us_failed) {
    send_datagram(rank, connect_datagram_kind::failed, rank);
  }
  if (state != peer_state::unconnected && state != peer_state::alive) return;
  if (got.kind == connect_datagram_kind::request || got.kind == connect_datagram_kind::reply) {
    handle_connect(got);
  } else {
    handle_report(got);
  }
}

void rdma_device::handle_connect(const connect_datagram& got) {
  const auto rank = static_cast<int>(got.rank);
  peer& from = peer_of(rank);
  if (from.bye_sent && !from.is_connected) {
    // Repeated, since the first one may be lost.
    send_datagram(rank, connect_datagram_kind::ended, context_.rank());
    return;
  }
  begin_connecting(rank);
  if (from.state.load(std::memory_order_relaxed) == peer_state::suspected) return;
  if (!from.is_connected) {
    from.remote_qps = got.numbers;
    if (base::Status status = connect_to(rank); !status.ok()) {
      suspect(rank, std::string(status.message()));
      return;
    }
  }
  moved_ = true;
  if (got.kind == connect_datagram_kind::request) {
    send_datagram(rank, connect_datagram_kind::reply, rank);
  }
  if (got.kind == connect_datagram_kind::reply) open_for_posts(rank);
}

// Called when the rank has shown that its queue pairs are connected, too.
void rdma_device::open_for_posts(int rank) {
  peer& other = peer_of(rank);
  if (other.state.load(std::memory_order_relaxed) != peer_state::unconnected) return;
  set_state(other, peer_state::alive);
}

}  // namespace lci::net::ibv
