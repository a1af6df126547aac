// Detection of failed ranks among those that are connected, and cleanup after a failure. (Ranks
// that are not connected: ring_monitor.cc.)
#include <algorithm>
#include <mutex>

#include "lci/base/log.h"
#include "lci/base/strings.h"
#include "lci/net/ibv/device.h"

namespace lci::net::ibv {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds check_interval{50};
// Each rank is sent a heartbeat at this interval: an empty write, which the rank's device answers
// whatever the rank does. If no answer arrives, the heartbeat is repeated at once, since an
// overloaded machine is silent for a while, too. A failed rank is detected after failure_timeout to
// 2 s, 0.3 s of these for the last heartbeat (resources.cc).
constexpr milliseconds heartbeat_interval{250};
constexpr milliseconds failure_timeout{1400};
// Fewer misses in that time mean that this rank has not polled.
constexpr int min_misses = 5;

}  // namespace

void rdma_device::check_for_failures() {
  const auto now = steady_clock::now();
  const auto since = now - last_check_;
  if (since < check_interval) return;
  last_check_ = now;
  // All ranks are probed once per heartbeat_interval, however rarely this rank polls.
  const steady_clock::duration pause = heartbeat_interval;
  const auto due = ranks_ * std::min<steady_clock::duration>(since, pause).count();
  for (auto i = (due + pause.count() - 1) / pause.count(); i > 0; --i) {
    const int rank = next_heartbeat_;
    next_heartbeat_ = rank + 1 == ranks_ ? 0 : rank + 1;
    if (!is_self(rank)) send_heartbeat(rank);
  }
}

void rdma_device::send_heartbeat(int rank) {
  peer& other = peer_of(rank);
  if (other.heartbeat_pending || other.bye_sent ||
      other.state.load(std::memory_order_relaxed) != peer_state::alive) {
    return;
  }
  ibv_send_wr request = {};
  request.wr_id = heartbeat_bit | static_cast<uint64_t>(rank);
  request.opcode = IBV_WR_RDMA_WRITE;
  request.send_flags = IBV_SEND_SIGNALED;
  ibv_send_wr* refused = nullptr;
  other.heartbeat_pending =
      ibv_post_send(own_->connection_of(rank).heartbeat_qp.get(), &request, &refused) == 0;
  if (other.misses == 0) other.silent_since = steady_clock::now();
}

// A heartbeat without an answer breaks its queue pair. After the reset, the heartbeat is repeated
// with the same packet number: the remote end answers whether or not it has seen that packet
// before.
void rdma_device::handle_heartbeat(int rank, bool answered) {
  peer& other = peer_of(rank);
  other.heartbeat_pending = false;
  if (answered) {
    ++other.heartbeats;
    other.misses = 0;
  }
  if (answered || other.bye_sent ||
      other.state.load(std::memory_order_relaxed) != peer_state::alive) {
    return;
  }
  ++other.misses;
  const auto silence = steady_clock::now() - other.silent_since;
  if (other.misses >= min_misses && silence >= failure_timeout) {
    suspect(rank, base::StrCat("its device has not answered for ",
                               std::chrono::duration_cast<milliseconds>(silence).count(), " ms"));
    return;
  }
  ibv_qp& local = *own_->connection_of(rank).heartbeat_qp;
  base::Status status = own_->reset(local);
  if (status.ok()) {
    status = own_->connect(local, remote_qp_of(rank, other.remote_qps.heartbeat_target_qp),
                           (first_psn_ + other.heartbeats) & psn_mask, qp_timeout::heartbeat);
  }
  if (status.ok()) {
    send_heartbeat(rank);
  } else {
    suspect(rank, std::string(status.message()));
  }
}

void rdma_device::suspect(int rank, const std::string& reason) {
  peer& other = peer_of(rank);
  const peer_state state = other.state.load(std::memory_order_relaxed);
  if (state != peer_state::alive && state != peer_state::unconnected) return;
  LCI_LOG(info, "ibv: rank ", rank, " seems to have failed: ", reason);
  set_state(other, peer_state::suspected);
  other.suspected_at = emptied_;
  ++suspects_;
}

// Every post that starts after this call sees the state.
void rdma_device::set_state(peer& other, peer_state state) {
  const std::lock_guard<ds::spinlock> guard(other.message_queue.lock());
  std::unique_lock<ds::spinlock> second(other.rma_queue.lock(), std::defer_lock);
  if (&other.rma_queue.lock() != &other.message_queue.lock()) second.lock();
  other.state.store(state, std::memory_order_relaxed);
}

// Reports a suspected rank as failed once the completion queue has been read to its end: the queue
// is in order, so everything that the rank sent before it went, including a bye, has been
// processed.
void rdma_device::confirm_failures() {
  for (int r = 0; r < ranks_; ++r) {
    const peer& other = peer_of(r);
    if (other.state.load(std::memory_order_relaxed) == peer_state::suspected &&
        emptied_ != other.suspected_at) {
      LCI_LOG(warn, "rank ", r, " has failed");
      report_failure(r);
    }
  }
}

void rdma_device::report_failure(int rank) {
  peer& gone = peer_of(rank);
  set_state(gone, peer_state::failed);
  --suspects_;
  moved_ = true;
  stop(rank);
  completion failed;
  failed.kind = completion_kind::peer_failed;
  failed.rank = rank;
  ready_.push_back(failed);
  if (on_demand_) close_ring(rank);
}

// Ends all operations in flight to a rank; those that have not completed yet complete with an
// error.
void rdma_device::stop(int rank) {
  peer& gone = peer_of(rank);
  if (!gone.is_connected) return;
  own_->stop(*gone.message_queue.qp());
  own_->stop(*gone.rma_queue.qp());
  // A rank that is in fact alive must not get answers from us any more: it fails us, too.
  own_->stop(*own_->connection_of(rank).heartbeat_qp);
  own_->stop(*own_->connection_of(rank).heartbeat_target_qp);
  if (gone.recovery != qp_recovery::none && gone.flushed > 0) {
    batch none{nullptr, 0};
    gone.rma_queue.retire(gone.rma_queue.tail() + gone.flushed - 1,
                          [&](work& finished) { finish(rank, finished, /*failed=*/true, &none); });
  }
  gone.recovery = qp_recovery::none;
  gone.owes_recovered = false;
}

void rdma_device::handle_bye(int rank) {
  peer& gone = peer_of(rank);
  if (gone.state.load(std::memory_order_relaxed) == peer_state::suspected) --suspects_;
  set_state(gone, peer_state::ended);
  stop(rank);
}

}  // namespace lci::net::ibv
