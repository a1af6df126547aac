// Recovery from wrong puts and gets. A wrong access breaks the RMA queue pair that issued it and
// the target end at the peer. Requests posted after it were flushed, not executed, and are reposted
// when both ends are reset. Only these requests ever use the two queue pairs, so nothing is lost or
// executed twice.
#include <mutex>

#include "lci/base/log.h"
#include "lci/base/strings.h"
#include "lci/net/ibv/device.h"

namespace lci::net::ibv {
namespace {

// Whether the error is in the memory that was accessed, not in the peer.
bool is_of_memory(ibv_wc_status status) {
  switch (status) {
    case IBV_WC_REM_ACCESS_ERR:
    case IBV_WC_REM_INV_REQ_ERR:
    case IBV_WC_REM_OP_ERR:
    case IBV_WC_LOC_PROT_ERR:
    case IBV_WC_LOC_LEN_ERR:
    case IBV_WC_LOC_ACCESS_ERR:
    case IBV_WC_LOC_QP_OP_ERR:
      return true;
    default:
      return false;
  }
}

}  // namespace

void rdma_device::rma_failed(int rank, const ibv_wc& entry, batch* results) {
  peer& to = peer_of(rank);
  const auto position = static_cast<uint32_t>(entry.wr_id);
  const bool is_alive = to.state.load(std::memory_order_relaxed) == peer_state::alive;
  if (is_alive && to.recovery != qp_recovery::none) {
    ++to.flushed;
    return;
  }
  const auto fail = [&](work& finished) { finish(rank, finished, /*failed=*/true, results); };
  if (!is_alive || !is_of_memory(entry.status)) {
    suspect(rank,
            base::StrCat("its memory could not be reached: ", verbs_.wc_status_str(entry.status)));
    to.rma_queue.retire(position, fail);
    return;
  }
  LCI_LOG(debug, "ibv: a put to or get from rank ", rank,
          " failed: ", verbs_.wc_status_str(entry.status));
  {
    const std::lock_guard<ds::spinlock> guard(to.rma_queue.lock());
    to.rma_broken = true;
  }
  to.rma_queue.retire(position, fail);
  to.recovery = qp_recovery::draining;
  to.flushed = 0;
  add_pending(rank);
}

// Advances the recovery as far as possible now.
void rdma_device::recover_rma_qp(int rank) {
  peer& to = peer_of(rank);
  if (to.recovery == qp_recovery::draining && to.flushed == to.rma_queue.under_way()) {
    to.recovery = qp_recovery::requesting;
    to.rma_first_psn = random_number() & psn_mask;
  }
  if (to.recovery == qp_recovery::requesting &&
      send_control(rank, {control_kind::recover, to.rma_first_psn}, work::kind::packet)) {
    to.recovery = qp_recovery::requested;
    moved_ = true;
  }
}

// Resets the queue pair at which the peer's puts and gets arrive.
void rdma_device::reset_rma_target_qp(int rank, uint32_t first_psn) {
  peer& from = peer_of(rank);
  ibv_qp& local = *own_->connection_of(rank).rma_target_qp;
  base::Status status = own_->reset(local);
  if (status.ok()) {
    remote_qp source = remote_qp_of(rank, from.remote_qps.rma_qp);
    source.first_psn = first_psn;
    status = own_->listen(local, source);
  }
  if (!status.ok()) {
    suspect(rank, std::string(status.message()));
    return;
  }
  from.owes_recovered = true;
  add_pending(rank);
}

void rdma_device::finish_recovery(int rank) {
  peer& to = peer_of(rank);
  if (to.recovery != qp_recovery::requested) {
    suspect(rank, "it sent an unexpected message");
    return;
  }
  ibv_qp& local = *to.rma_queue.qp();
  const std::lock_guard<ds::spinlock> guard(to.rma_queue.lock());
  base::Status status = own_->reset(local);
  if (status.ok())
    status =
        own_->connect(local, remote_qp_of(rank, to.remote_qps.rma_target_qp), to.rma_first_psn);
  to.recovery = qp_recovery::none;
  const uint32_t again = to.rma_queue.under_way();
  to.rma_queue.rewind();
  for (uint32_t i = 0; i < again && status.ok(); ++i) {
    if (const int code = repost(to.rma_queue, to.rma_queue.next()); code != 0) {
      status = failure("reposting puts and gets", code);
    }
  }
  if (!status.ok()) {
    suspect(rank, std::string(status.message()));
    return;
  }
  to.rma_broken = false;
}

// Adds the rank to the list for process_pending().
void rdma_device::add_pending(int rank) {
  peer& other = peer_of(rank);
  if (other.is_pending) return;
  other.is_pending = true;
  pending_.push_back(rank);
}

void rdma_device::process_pending() {
  for (size_t i = 0; i < pending_.size();) {
    const int rank = pending_[i];
    peer& to = peer_of(rank);
    if (to.state.load(std::memory_order_relaxed) == peer_state::alive) {
      if (to.owes_recovered &&
          send_control(rank, {control_kind::recovered, 0}, work::kind::packet)) {
        to.owes_recovered = false;
        moved_ = true;
      }
      recover_rma_qp(rank);
      if (to.owes_recovered || to.recovery != qp_recovery::none) {
        ++i;
        continue;
      }
    }
    to.is_pending = false;
    pending_[i] = pending_.back();
    pending_.pop_back();
  }
}

}  // namespace lci::net::ibv
