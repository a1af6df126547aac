// Polling: reads the completion queue and processes its entries.
#include <algorithm>
#include <cstring>
#include <mutex>

#include "lci/base/log.h"
#include "lci/base/strings.h"
#include "lci/net/ibv/device.h"

namespace lci::net::ibv {
namespace {

constexpr size_t entries_per_read = 16;
// Polls between two reads of the clock.
constexpr uint32_t polls_between_checks = 256;

}  // namespace

error_t rdma_device::poll(completion* out, size_t max, size_t* count) {
  *count = 0;
  if (!lock_.try_lock()) return errorcode_t::retry_lock;
  const std::lock_guard<ds::spinlock> guard(lock_, std::adopt_lock);
  batch results{out, max};
  moved_ = false;
  if (__builtin_expect(!ready_.empty(), 0)) give_ready(&results);
  read_completions(&results);
  post_receives();
  if (__builtin_expect(!pending_.empty(), 0)) process_pending();
  if (__builtin_expect(on_demand_, 0)) connect_on_demand();
  if (++polls_ % polls_between_checks == 0) check_for_failures();
  if (__builtin_expect(suspects_ > 0, 0)) confirm_failures();
  *count = results.count;
  return moved_ || results.count > 0 ? errorcode_t::done : errorcode_t::retry;
}

std::vector<int> rdma_device::wait_descriptors() const {
  if (!config_.attr.progress_thread) return {};
  return {own_->channel->fd, sleeper_.descriptor()};
}

std::chrono::microseconds rdma_device::arm() {
  constexpr std::chrono::microseconds not_now{0};
  if (!lock_.try_lock()) return not_now;
  const std::lock_guard<ds::spinlock> guard(lock_, std::adopt_lock);
  check_for_failures();
  if (!failure_notices_.empty()) send_failure_notices();
  if (on_demand_) context_.answer_datagrams_except(*this);
  if (!ready_.empty() || !returned_.empty()) return not_now;
  if (!config_.attr.progress_thread) return short_sleep;
  sleeper_.arm();
  if (const base::Status status = own_->request_events(); !status.ok()) {
    LCI_LOG(debug, "ibv: ", status.message());
    sleeper_.disarm();
    return short_sleep;
  }
  // A completion that arrived before events were requested makes no event.
  if (completes_now()) {
    sleeper_.disarm();
    return not_now;
  }
  // Retries and repeated datagrams are due without an event.
  const bool soon = !pending_.empty() || !connecting_.empty() || !failure_notices_.empty() ||
                    unposted_ != nullptr || suspects_ > 0;
  return soon ? short_sleep : long_sleep;
}

// Takes one entry if there is any. Returns true if a poll has something to deliver or to do.
bool rdma_device::completes_now() {
  if (any_connection_wanted_.load(std::memory_order_relaxed)) return true;
  if (on_demand_ &&
      own_->datagrams.receive([&](const connect_datagram& got) { handle_datagram(got); }))
    return true;
  ibv_wc entry;
  const int read = ibv_poll_cq(own_->completions(), 1, &entry);
  batch none{nullptr, 0};
  if (read > 0) take(entry, &none);
  return read != 0;
}

// Each entry produces at most one completion, except entries of a failed rank.
void rdma_device::read_completions(batch* results) {
  while (!results->full()) {
    ibv_wc entries[entries_per_read];
    const size_t wanted = std::min(entries_per_read, results->max - results->count);
    const int read = ibv_poll_cq(own_->completions(), static_cast<int>(wanted), entries);
    for (int e = 0; e < read; ++e) take(entries[e], results);
    if (read > 0) moved_ = true;
    if (__builtin_expect(read < 0, 0)) {
      // The queue has overrun, or the device is gone: no peer can be heard any more.
      is_cut_off_ = true;
      for (int r = 0; r < ranks_; ++r) {
        suspect(r, base::StrCat("the completion queue of device ", config_.uid, " is broken"));
      }
    }
    if (read < static_cast<int>(wanted)) {
      ++emptied_;
      return;
    }
  }
}

void rdma_device::take(const ibv_wc& entry, batch* results) {
  if ((entry.wr_id & receive_bit) != 0) {
    receive(entry, results);
  } else if (__builtin_expect((entry.wr_id & heartbeat_bit) != 0, 0)) {
    handle_heartbeat(static_cast<int>(entry.wr_id & ~heartbeat_bit),
                     entry.status == IBV_WC_SUCCESS);
  } else {
    sent(entry, results);
  }
}

void rdma_device::give(batch* results, const completion& one) {
  if (!results->full() && ready_.empty()) {
    results->out[results->count++] = one;
  } else {
    ready_.push_back(one);
  }
}

void rdma_device::give_ready(batch* results) {
  while (!results->full() && !ready_.empty()) {
    results->out[results->count++] = ready_.front();
    ready_.pop_front();
  }
}

void rdma_device::receive(const ibv_wc& entry, batch* results) {
  arrival& slot = arrivals_[entry.wr_id & ~receive_bit];
  const auto put_back = [&] {
    slot.next = unposted_;
    unposted_ = &slot;
  };
  const int rank = sources_.find(entry.qp_num);
  if (__builtin_expect(rank < 0 || entry.status != IBV_WC_SUCCESS, 0)) {
    // The request was a wrong write, or its rank is gone; the rank that posted it gets an error.
    LCI_LOG(debug, "ibv: a receive failed: ", verbs_.wc_status_str(entry.status));
    put_back();
    if (rank >= 0 && entry.status == IBV_WC_LOC_LEN_ERR) {
      suspect(rank, "it sent a message that is too long");
    }
    return;
  }
  const peer_state state = peer_of(rank).state.load(std::memory_order_relaxed);
  if (__builtin_expect(state != peer_state::alive, 0)) {
    if (state == peer_state::ended || state == peer_state::failed) {
      put_back();
      return;
    }
    open_for_posts(rank);  // if the device was waiting for the peer's reply
  }
  completion received;
  received.rank = rank;
  received.imm = decode_immediate(entry.imm_data);
  if (entry.opcode == IBV_WC_RECV_RDMA_WITH_IMM) {
    received.kind = completion_kind::remote_put;
    put_back();
  } else if (__builtin_expect((entry.wc_flags & IBV_WC_WITH_IMM) == 0, 0)) {
    take_control(rank, slot, entry.byte_len);
    put_back();
    return;
  } else {
    received.kind = completion_kind::recv;
    received.size = entry.byte_len;
    if (received.size <= sizeof(received.small)) {
      received.is_small = true;
      std::memcpy(received.small, slot.bytes, sizeof(received.small));
      put_back();
    } else {
      received.buffer = slot.bytes;
      received.lease = reinterpret_cast<uintptr_t>(&slot);
    }
  }
  give(results, received);
}

void rdma_device::release(const completion& received) {
  if (received.is_small) return;
  returned_.put(*reinterpret_cast<arrival*>(static_cast<uintptr_t>(received.lease)));
}

// Posts all returned receives as one list.
void rdma_device::post_receives() {
  if (!returned_.empty()) {
    for (arrival* returned = returned_.take_all(); returned != nullptr;) {
      arrival* const next = returned->next;
      returned->next = unposted_;
      unposted_ = returned;
      returned = next;
    }
  }
  if (unposted_ == nullptr) return;
  for (arrival* each = unposted_; each != nullptr; each = each->next) {
    each->request.next = each->next == nullptr ? nullptr : &each->next->request;
  }
  ibv_recv_wr* refused = nullptr;
  const int code = ibv_post_srq_recv(own_->receives(), &unposted_->request, &refused);
  // Refused receives are posted again later.
  unposted_ = code == 0 || refused == nullptr ? nullptr : &arrivals_[refused->wr_id & ~receive_bit];
}

void rdma_device::sent(const ibv_wc& entry, batch* results) {
  const auto index = static_cast<uint32_t>(entry.wr_id >> 32);
  const auto rank = static_cast<int>(index / 2);
  const auto position = static_cast<uint32_t>(entry.wr_id);
  peer& to = peer_of(rank);
  const bool is_rma = index % 2 != 0;
  if (__builtin_expect(entry.status == IBV_WC_SUCCESS, 1)) {
    (is_rma ? to.rma_queue : to.message_queue).retire(position, [&](work& finished) {
      finish(rank, finished, /*failed=*/false, results);
    });
    return;
  }
  if (is_rma) {
    rma_failed(rank, entry, results);
    return;
  }
  suspect(rank, base::StrCat("a message did not reach it: ", verbs_.wc_status_str(entry.status)));
  to.message_queue.retire(
      position, [&](work& finished) { finish(rank, finished, /*failed=*/true, results); });
}

void rdma_device::finish(int rank, work& finished, bool failed, batch* results) {
  switch (finished.what) {
    case work::kind::quiet:
      return;
    case work::kind::marker:
      peer_of(rank).marked.store(false, std::memory_order_relaxed);
      return;
    case work::kind::bye:
      if (!failed) peer_of(rank).bye_taken = true;
      [[fallthrough]];
    case work::kind::packet:
      if (finished.bytes != nullptr) packets_.put(finished.bytes);
      return;
    case work::kind::user: {
      completion done;
      done.kind = finished.operation == op_kind::send  ? completion_kind::send
                  : finished.operation == op_kind::get ? completion_kind::get
                                                       : completion_kind::put;
      done.rank = rank;
      done.context = finished.context;
      done.failed = failed;
      give(results, done);
      return;
    }
  }
}

void rdma_device::take_control(int rank, const arrival& slot, size_t size) {
  control message;
  if (!read_control(slot.bytes, size, &message)) {
    suspect(rank, "it sent a malformed message");
    return;
  }
  switch (message.kind) {
    case control_kind::bye:
      handle_bye(rank);
      return;
    case control_kind::recover:
      reset_rma_target_qp(rank, message.first_psn);
      return;
    case control_kind::recovered:
      finish_recovery(rank);
      return;
  }
}

bool rdma_device::drained() {
  if (!lock_.try_lock()) return false;
  const std::lock_guard<ds::spinlock> guard(lock_, std::adopt_lock);
  bool all = true;
  for (int r = 0; r < ranks_; ++r) {
    peer& to = peer_of(r);
    if (to.state.load(std::memory_order_relaxed) != peer_state::alive) continue;
    // A queue pair in recovery that holds no requests delays no operation. Waiting for it could
    // take forever: the peer may have stopped polling.
    if (to.owes_recovered || !to.rma_queue.is_empty()) all = false;
    if (to.message_queue.is_empty()) continue;
    all = false;
    send_marker(to);
  }
  return all;
}

}  // namespace lci::net::ibv
