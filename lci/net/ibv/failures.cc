// Ranks that are gone: how that is found out, and what it ends.
#include <algorithm>
#include <mutex>

#include "lci/base/log.h"
#include "lci/net/ibv/device.h"

namespace lci::net::ibv {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds time_between_looks{50};
// Each rank is asked for a sign of life so often. That of its device, which answers whatever the
// rank does; one that is gone does not, which ours tells us (resources.cc says when).
constexpr milliseconds time_between_probes{250};

}  // namespace

void rdma_device::look_for_failures() {
  const auto now = steady_clock::now();
  if (now - last_look_ < time_between_looks) return;
  last_look_ = now;
  const int probes =
      static_cast<int>((ranks_ * time_between_looks.count() + time_between_probes.count() - 1) /
                       time_between_probes.count());
  for (int i = 0; i < probes; ++i) {
    const int rank = next_probe_;
    next_probe_ = rank + 1 == ranks_ ? 0 : rank + 1;
    peer& other = with(rank);
    if (is_us(rank) || other.state.load(std::memory_order_relaxed) != peer_state::alive) continue;
    send_marker(other);
  }
}

void rdma_device::suspect(int rank, const std::string& reason) {
  peer& other = with(rank);
  const peer_state state = other.state.load(std::memory_order_relaxed);
  if (state != peer_state::alive && state != peer_state::unconnected) return;
  LCI_LOG(info, "ibv: rank ", rank, " seems to have failed: ", reason);
  set_state(other, peer_state::suspected);
  other.suspected_at = emptied_;
  ++suspects_;
}

// Every post that starts from now on sees it.
void rdma_device::set_state(peer& other, peer_state state) {
  const std::lock_guard<ds::spinlock> guard(other.messages.lock());
  std::unique_lock<ds::spinlock> second(other.writes.lock(), std::defer_lock);
  if (&other.writes.lock() != &other.messages.lock()) second.lock();
  other.state.store(state, std::memory_order_relaxed);
}

// What it had sent before it went, and that it ended its device, came before what told us that it
// is gone: the completion queue is in order, and has been read to its end.
void rdma_device::judge() {
  for (int r = 0; r < ranks_; ++r) {
    const peer& other = with(r);
    if (other.state.load(std::memory_order_relaxed) == peer_state::suspected &&
        emptied_ != other.suspected_at) {
      LCI_LOG(warn, "rank ", r, " has failed");
      report(r);
    }
  }
}

void rdma_device::report(int rank) {
  peer& gone = with(rank);
  set_state(gone, peer_state::failed);
  --suspects_;
  moved_ = true;
  stop(rank);
  completion failed;
  failed.kind = completion_kind::peer_failed;
  failed.rank = rank;
  ready_.push_back(failed);
}

// Ends all that is under way to a rank; what has not come out by itself does then.
void rdma_device::stop(int rank) {
  peer& gone = with(rank);
  if (!gone.is_connected) return;
  own_->stop(*gone.messages.qp());
  own_->stop(*gone.writes.qp());
  if (gone.stage != renewal::none && gone.flushed > 0) {
    batch none{nullptr, 0};
    gone.writes.retire(gone.writes.tail() + gone.flushed - 1,
                       [&](work& over) { finish(rank, over, /*failed=*/true, &none); });
  }
  gone.stage = renewal::none;
  gone.owes_renewed = false;
}

void rdma_device::take_bye(int rank) {
  peer& gone = with(rank);
  if (gone.state.load(std::memory_order_relaxed) == peer_state::suspected) --suspects_;
  set_state(gone, peer_state::ended);
  stop(rank);
}

}  // namespace lci::net::ibv
