// Puts and gets that were wrong. They break the queue pair that they left through, and its other
// end. What had been posted after them has not been done, and is posted again when both are new:
// nothing else ever went through these two, so nothing can be lost or done twice.
#include <mutex>

#include "lci/base/log.h"
#include "lci/base/strings.h"
#include "lci/net/ibv/device.h"

namespace lci::net::ibv {
namespace {

// The memory, not the peer, is what is wrong.
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

void rdma_device::write_failed(int rank, const ibv_wc& entry, batch* given) {
  peer& to = with(rank);
  const auto position = static_cast<uint32_t>(entry.wr_id);
  const bool is_alive = to.state.load(std::memory_order_relaxed) == peer_state::alive;
  if (is_alive && to.stage != renewal::none) {
    ++to.flushed;
    return;
  }
  const auto fail = [&](work& over) { finish(rank, over, /*failed=*/true, given); };
  if (!is_alive || !is_of_memory(entry.status)) {
    suspect(rank,
            base::StrCat("its memory could not be reached: ", verbs_.wc_status_str(entry.status)));
    to.writes.retire(position, fail);
    return;
  }
  LCI_LOG(debug, "ibv: a put to or get from rank ", rank,
          " failed: ", verbs_.wc_status_str(entry.status));
  {
    const std::lock_guard<ds::spinlock> guard(to.writes.lock());
    to.writes_broken = true;
  }
  to.writes.retire(position, fail);
  to.stage = renewal::emptying;
  to.flushed = 0;
  wait(rank);
}

// As far as it can be done now.
void rdma_device::renew_writes(int rank) {
  peer& to = with(rank);
  if (to.stage == renewal::emptying && to.flushed == to.writes.under_way()) {
    to.stage = renewal::asking;
    to.first_write = random_number() & packet_numbers;
  }
  if (to.stage == renewal::asking &&
      send_control(rank, {control_kind::renew, to.first_write}, work::kind::packet)) {
    to.stage = renewal::asked;
    moved_ = true;
  }
}

// The peer's puts and gets arrive at a queue pair that is to be made new.
void rdma_device::renew_written(int rank, uint32_t first_packet) {
  peer& from = with(rank);
  ibv_qp& ours = *own_->with(rank).written;
  base::Status bad = own_->reset(ours);
  if (bad.ok()) {
    far_end writes = far_end_of(rank, from.theirs.writes);
    writes.first_packet = first_packet;
    bad = own_->listen(ours, writes);
  }
  if (!bad.ok()) {
    suspect(rank, std::string(bad.message()));
    return;
  }
  from.owes_renewed = true;
  wait(rank);
}

void rdma_device::renewed(int rank) {
  peer& to = with(rank);
  if (to.stage != renewal::asked) {
    suspect(rank, "it sent a message out of turn");
    return;
  }
  ibv_qp& ours = *to.writes.qp();
  const std::lock_guard<ds::spinlock> guard(to.writes.lock());
  base::Status bad = own_->reset(ours);
  if (bad.ok()) bad = own_->connect(ours, far_end_of(rank, to.theirs.written), to.first_write);
  to.stage = renewal::none;
  const uint32_t again = to.writes.under_way();
  to.writes.begin_again();
  for (uint32_t i = 0; i < again && bad.ok(); ++i) {
    if (const int code = post_again(to.writes, to.writes.next()); code != 0) {
      bad = failure("posting puts and gets again", code);
    }
  }
  if (!bad.ok()) {
    suspect(rank, std::string(bad.message()));
    return;
  }
  to.writes_broken = false;
}

// The rank has something to be done for.
void rdma_device::wait(int rank) {
  peer& other = with(rank);
  if (other.waiting) return;
  other.waiting = true;
  waiting_.push_back(rank);
}

void rdma_device::work_off() {
  for (size_t i = 0; i < waiting_.size();) {
    const int rank = waiting_[i];
    peer& to = with(rank);
    if (to.state.load(std::memory_order_relaxed) == peer_state::alive) {
      if (to.owes_renewed && send_control(rank, {control_kind::renewed, 0}, work::kind::packet)) {
        to.owes_renewed = false;
        moved_ = true;
      }
      renew_writes(rank);
      if (to.owes_renewed || to.stage != renewal::none) {
        ++i;
        continue;
      }
    }
    to.waiting = false;
    waiting_[i] = waiting_.back();
    waiting_.pop_back();
  }
}

}  // namespace lci::net::ibv
