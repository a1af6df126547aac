// Polling: what the completion queue says, and what comes of it.
#include <algorithm>
#include <cstring>
#include <mutex>

#include "lci/base/log.h"
#include "lci/base/strings.h"
#include "lci/net/ibv/device.h"

namespace lci::net::ibv {
namespace {

constexpr size_t entries_per_read = 16;
// The clock is read once in so many polls.
constexpr uint32_t polls_between_looks = 256;

}  // namespace

error_t rdma_device::poll(completion* out, size_t max, size_t* count) {
  *count = 0;
  if (!lock_.try_lock()) return errorcode_t::retry_lock;
  const std::lock_guard<ds::spinlock> guard(lock_, std::adopt_lock);
  batch given{out, max};
  moved_ = false;
  if (__builtin_expect(!ready_.empty(), 0)) give_ready(&given);
  read_completions(&given);
  post_receives();
  if (__builtin_expect(!waiting_.empty(), 0)) work_off();
  if (__builtin_expect(late_, 0)) meet();
  if (++polls_ % polls_between_looks == 0) look_for_failures();
  if (__builtin_expect(suspects_ > 0, 0)) judge();
  *count = given.count;
  return moved_ || given.count > 0 ? errorcode_t::done : errorcode_t::retry;
}

std::vector<int> rdma_device::wait_descriptors() const {
  if (!config_.sleeps) return {};
  return {own_->channel->fd, sleeper_.descriptor()};
}

std::chrono::microseconds rdma_device::arm() {
  constexpr std::chrono::microseconds not_now{0};
  if (!lock_.try_lock()) return not_now;
  const std::lock_guard<ds::spinlock> guard(lock_, std::adopt_lock);
  look_for_failures();
  if (!obituaries_.empty()) tell_of_lost();
  if (late_) context_.meet_all_but(*this);
  if (!ready_.empty() || !returned_.empty()) return not_now;
  if (!config_.sleeps) return short_sleep;
  sleeper_.arm();
  if (const base::Status bad = own_->ask_for_events(); !bad.ok()) {
    LCI_LOG(debug, "ibv: ", bad.message());
    sleeper_.disarm();
    return short_sleep;
  }
  // Only what comes after it was asked for makes an event.
  if (completes_now()) {
    sleeper_.disarm();
    return not_now;
  }
  // What has to be tried or said again, without an event that tells when.
  const bool soon = !waiting_.empty() || !meetings_.empty() || !obituaries_.empty() ||
                    unposted_ != nullptr || suspects_ > 0;
  return soon ? short_sleep : long_sleep;
}

// Something was there that poll has to give, or to do.
bool rdma_device::completes_now() {
  if (any_wanted_.load(std::memory_order_relaxed)) return true;
  if (late_ && own_->datagrams.receive([&](const hail& got) { take_hail(got); })) return true;
  ibv_wc entry;
  const int read = ibv_poll_cq(own_->completions(), 1, &entry);
  batch none{nullptr, 0};
  if (read > 0) take(entry, &none);
  return read != 0;
}

// Each entry makes one completion at most, but for those of a rank that is gone.
void rdma_device::read_completions(batch* given) {
  while (!given->full()) {
    ibv_wc entries[entries_per_read];
    const size_t wanted = std::min(entries_per_read, given->max - given->count);
    const int read = ibv_poll_cq(own_->completions(), static_cast<int>(wanted), entries);
    for (int e = 0; e < read; ++e) take(entries[e], given);
    if (read > 0) moved_ = true;
    if (__builtin_expect(read < 0, 0)) {
      // It has overrun, or the device is gone: nothing is heard of anybody any more.
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

void rdma_device::take(const ibv_wc& entry, batch* given) {
  if ((entry.wr_id & receive_bit) != 0) {
    receive(entry, given);
  } else if (__builtin_expect((entry.wr_id & pulse_bit) != 0, 0)) {
    take_pulse(static_cast<int>(entry.wr_id & ~pulse_bit), entry.status == IBV_WC_SUCCESS);
  } else {
    sent(entry, given);
  }
}

void rdma_device::give(batch* given, const completion& one) {
  if (!given->full() && ready_.empty()) {
    given->out[given->count++] = one;
  } else {
    ready_.push_back(one);
  }
}

void rdma_device::give_ready(batch* given) {
  while (!given->full() && !ready_.empty()) {
    given->out[given->count++] = ready_.front();
    ready_.pop_front();
  }
}

void rdma_device::receive(const ibv_wc& entry, batch* given) {
  arrival& here = arrivals_[entry.wr_id & ~receive_bit];
  const auto put_back = [&] {
    here.next = unposted_;
    unposted_ = &here;
  };
  const int rank = sources_.find(entry.qp_num);
  if (__builtin_expect(rank < 0 || entry.status != IBV_WC_SUCCESS, 0)) {
    // Of a write that was wrong, or of a rank that is gone; who posted it is told.
    LCI_LOG(debug, "ibv: a receive failed: ", verbs_.wc_status_str(entry.status));
    put_back();
    if (rank >= 0 && entry.status == IBV_WC_LOC_LEN_ERR) {
      suspect(rank, "it sent a message that is too long");
    }
    return;
  }
  const peer_state state = with(rank).state.load(std::memory_order_relaxed);
  if (__builtin_expect(state != peer_state::alive, 0)) {
    if (state == peer_state::ended || state == peer_state::failed) {
      put_back();
      return;
    }
    open_for_posts(rank);  // if it was its answer that we waited for
  }
  completion received;
  received.rank = rank;
  received.imm = decode_immediate(entry.imm_data);
  if (entry.opcode == IBV_WC_RECV_RDMA_WITH_IMM) {
    received.kind = completion_kind::remote_put;
    put_back();
  } else if (__builtin_expect((entry.wc_flags & IBV_WC_WITH_IMM) == 0, 0)) {
    take_control(rank, here, entry.byte_len);
    put_back();
    return;
  } else {
    received.kind = completion_kind::recv;
    received.size = entry.byte_len;
    if (received.size <= sizeof(received.small)) {
      received.is_small = true;
      std::memcpy(received.small, here.bytes, sizeof(received.small));
      put_back();
    } else {
      received.buffer = here.bytes;
      received.lease = reinterpret_cast<uintptr_t>(&here);
    }
  }
  give(given, received);
}

void rdma_device::release(const completion& received) {
  if (received.is_small) return;
  returned_.put(*reinterpret_cast<arrival*>(static_cast<uintptr_t>(received.lease)));
}

// Whoever polls posts all receives that are over, as one list.
void rdma_device::post_receives() {
  if (!returned_.empty()) {
    for (arrival* over = returned_.take_all(); over != nullptr;) {
      arrival* const next = over->next;
      over->next = unposted_;
      unposted_ = over;
      over = next;
    }
  }
  if (unposted_ == nullptr) return;
  for (arrival* each = unposted_; each != nullptr; each = each->next) {
    each->request.next = each->next == nullptr ? nullptr : &each->next->request;
  }
  ibv_recv_wr* refused = nullptr;
  const int bad = ibv_post_srq_recv(own_->receives(), &unposted_->request, &refused);
  // What is refused is asked for again.
  unposted_ = bad == 0 || refused == nullptr ? nullptr : &arrivals_[refused->wr_id & ~receive_bit];
}

void rdma_device::sent(const ibv_wc& entry, batch* given) {
  const auto index = static_cast<uint32_t>(entry.wr_id >> 32);
  const auto rank = static_cast<int>(index / 2);
  const auto position = static_cast<uint32_t>(entry.wr_id);
  peer& to = with(rank);
  const bool is_write = index % 2 != 0;
  if (__builtin_expect(entry.status == IBV_WC_SUCCESS, 1)) {
    (is_write ? to.writes : to.messages).retire(position, [&](work& over) {
      finish(rank, over, /*failed=*/false, given);
    });
    return;
  }
  if (is_write) {
    write_failed(rank, entry, given);
    return;
  }
  suspect(rank, base::StrCat("a message did not reach it: ", verbs_.wc_status_str(entry.status)));
  to.messages.retire(position, [&](work& over) { finish(rank, over, /*failed=*/true, given); });
}

void rdma_device::finish(int rank, work& over, bool failed, batch* given) {
  switch (over.what) {
    case work::kind::quiet:
      return;
    case work::kind::marker:
      with(rank).marked.store(false, std::memory_order_relaxed);
      return;
    case work::kind::bye:
      if (!failed) with(rank).bye_taken = true;
      [[fallthrough]];
    case work::kind::packet:
      if (over.bytes != nullptr) packets_.put(over.bytes);
      return;
    case work::kind::user: {
      completion done;
      done.kind = over.operation == op_kind::send  ? completion_kind::send
                  : over.operation == op_kind::get ? completion_kind::get
                                                   : completion_kind::put;
      done.rank = rank;
      done.context = over.context;
      done.failed = failed;
      give(given, done);
      return;
    }
  }
}

void rdma_device::take_control(int rank, const arrival& here, size_t size) {
  control told;
  if (!read_control(here.bytes, size, &told)) {
    suspect(rank, "it sent a malformed message");
    return;
  }
  switch (told.kind) {
    case control_kind::bye:
      take_bye(rank);
      return;
    case control_kind::renew:
      renew_written(rank, told.first_packet);
      return;
    case control_kind::renewed:
      renewed(rank);
      return;
  }
}

bool rdma_device::drained() {
  if (!lock_.try_lock()) return false;
  const std::lock_guard<ds::spinlock> guard(lock_, std::adopt_lock);
  bool all = true;
  for (int r = 0; r < ranks_; ++r) {
    peer& to = with(r);
    if (to.state.load(std::memory_order_relaxed) != peer_state::alive) continue;
    // A queue pair that is being made new, and has nothing in it, is nobody's operation: the peer
    // may have stopped to poll, and would not answer.
    if (to.owes_renewed || !to.writes.is_empty()) all = false;
    if (to.messages.is_empty()) continue;
    all = false;
    send_marker(to);
  }
  return all;
}

}  // namespace lci::net::ibv
