// Posting and polling: reads the completion queue, and gives each entry to the part that it is for.
#include <algorithm>
#include <cstring>
#include <mutex>

#include "lci/base/log.h"
#include "lci/base/strings.h"
#include "lci/net/ibv/device.h"

namespace lci::net::ibv {
namespace {

constexpr size_t entries_per_read = 16;
// Polls between two checks for datagrams while no rank wants a connection.
constexpr uint32_t polls_between_connect_checks = 64;

}  // namespace

error_t rdma_device::post(const op& operation) {
  return operation.kind == op_kind::send ? messages_.post(operation) : rma_.post(operation);
}

error_t rdma_device::post_short(short_op what, net_imm_data_t imm, void* buffer, size_t size,
                                const remote_place* where) {
  if (__builtin_expect(what.kind != op_kind::send || size > messages_.max_inline(), 0)) {
    return device::post_short(what, imm, buffer, size, where);
  }
  return messages_.post_inline(what.rank, imm, buffer, size);
}

error_t rdma_device::poll(completion* out, size_t max, size_t* count) {
  *count = 0;
  if (!lock_.try_lock()) return errorcode_t::retry_lock;
  const std::lock_guard<ds::spinlock> guard(lock_, std::adopt_lock);
  sink_.begin(out, max);
  read_completions();
  receives_.post();
  if (__builtin_expect(rma_.has_pending(), 0)) rma_.advance();
  if (__builtin_expect(on_demand_, 0)) connect_on_demand();
  if (++polls_ % polls_between_checks == 0) check_for_failures();
  if (__builtin_expect(peers_.has_suspects(), 0)) confirm_failures();
  *count = sink_.end();
  return *count > 0 || sink_.has_progress() ? errorcode_t::done : errorcode_t::retry;
}

std::vector<int> rdma_device::wait_descriptors() const {
  if (!config_.attr.progress_thread) return {};
  return {own_->channel->fd, wanted_.sleeper.descriptor()};
}

std::chrono::microseconds rdma_device::arm() {
  constexpr std::chrono::microseconds not_now{0};
  if (!lock_.try_lock()) return not_now;
  const std::lock_guard<ds::spinlock> guard(lock_, std::adopt_lock);
  check_for_failures();
  if (monitor_.has_notices()) monitor_.send_notices(std::chrono::steady_clock::now());
  if (on_demand_) context_.answer_datagrams_except(*this);
  if (sink_.has_waiting() || receives_.has_returned()) return not_now;
  if (!config_.attr.progress_thread) return short_sleep;
  base::wakeup& sleeper = wanted_.sleeper;
  sleeper.arm();
  if (const base::Status status = own_->request_events(); !status.ok()) {
    LCI_LOG(debug, "ibv: ", status.message());
    sleeper.disarm();
    return short_sleep;
  }
  // A completion that arrived before events were requested makes no event.
  if (completes_now()) {
    sleeper.disarm();
    return not_now;
  }
  // Retries and repeated datagrams are due without an event.
  const bool soon = rma_.has_pending() || connections_.is_connecting() || monitor_.has_notices() ||
                    receives_.has_unposted() || peers_.has_suspects();
  return soon ? short_sleep : long_sleep;
}

// Takes one entry if there is any. Returns true if a poll has something to deliver or to do.
bool rdma_device::completes_now() {
  if (wanted_.any() || (on_demand_ && receive_datagrams())) return true;
  ibv_wc entry;
  const int read = ibv_poll_cq(own_->completions(), 1, &entry);
  if (read > 0) take(entry);
  return read != 0;
}

// Completions.

// Each entry produces at most one completion, except entries of a failed rank.
void rdma_device::read_completions() {
  while (const size_t room = sink_.room()) {
    ibv_wc entries[entries_per_read];
    const size_t wanted = std::min(entries_per_read, room);
    const int read = ibv_poll_cq(own_->completions(), static_cast<int>(wanted), entries);
    for (int e = 0; e < read; ++e) take(entries[e]);
    if (read > 0) sink_.note_progress();
    if (__builtin_expect(read < 0, 0)) {
      // The queue has overrun, or the device is gone: no peer can be heard any more.
      monitor_.set_cut_off();
      for (int r = 0; r < context_.size(); ++r) {
        peers_.suspect(r,
                       base::StrCat("the completion queue of device ", config_.uid, " is broken"));
      }
    }
    if (read < static_cast<int>(wanted)) {
      peers_.note_empty_read();
      return;
    }
  }
}

void rdma_device::take(const ibv_wc& entry) {
  if ((entry.wr_id & receive_bit) != 0) {
    receive(entry);
  } else if (__builtin_expect((entry.wr_id & heartbeat_bit) != 0, 0)) {
    heartbeats_.handle(static_cast<int>(entry.wr_id & ~heartbeat_bit),
                       entry.status == IBV_WC_SUCCESS, std::chrono::steady_clock::now());
  } else {
    sent(entry);
  }
}

void rdma_device::receive(const ibv_wc& entry) {
  arrival& slot = receives_.at(entry.wr_id);
  const int rank = connections_.source_of(entry.qp_num);
  if (__builtin_expect(rank < 0 || entry.status != IBV_WC_SUCCESS, 0)) {
    receive_failed(rank, entry);
    return;
  }
  const peer_state state = peers_.state(rank);
  if (__builtin_expect(state != peer_state::alive, 0)) {
    if (!is_readable(state)) {
      receives_.put_back(slot);
      return;
    }
    peers_.open(rank);  // if the device was waiting for the peer's reply
  }
  completion received;
  received.rank = rank;
  received.imm = decode_immediate(entry.imm_data);
  if (entry.opcode == IBV_WC_RECV_RDMA_WITH_IMM) {
    received.kind = completion_kind::remote_put;
    receives_.put_back(slot);
  } else if (__builtin_expect((entry.wc_flags & IBV_WC_WITH_IMM) == 0, 0)) {
    take_control(rank, slot, entry.byte_len);
    receives_.put_back(slot);
    return;
  } else {
    received.kind = completion_kind::recv;
    received.size = entry.byte_len;
    if (received.size <= sizeof(received.small)) {
      received.is_small = true;
      std::memcpy(received.small, slot.bytes, sizeof(received.small));
      receives_.put_back(slot);
    } else {
      received.buffer = slot.bytes;
      received.lease = reinterpret_cast<uintptr_t>(&slot);
    }
  }
  sink_.give(received);
}

// The request was a wrong write, or its rank is gone; the rank that posted it gets an error.
[[gnu::noinline]] void rdma_device::receive_failed(int rank, const ibv_wc& entry) {
  LCI_LOG(debug, "ibv: a receive failed: ", verbs_.wc_status_str(entry.status));
  receives_.put_back(receives_.at(entry.wr_id));
  if (rank >= 0 && entry.status == IBV_WC_LOC_LEN_ERR) {
    peers_.corrupt(rank, "it sent a message that is too long");
  }
}

void rdma_device::release(const completion& received) {
  if (received.is_small) return;
  receives_.release(*reinterpret_cast<arrival*>(static_cast<uintptr_t>(received.lease)));
}

void rdma_device::take_control(int rank, const arrival& slot, size_t size) {
  control message;
  if (!read_control(slot.bytes, size, &message)) {
    peers_.corrupt(rank, "it sent a malformed message");
    return;
  }
  switch (message.kind) {
    case control_kind::bye:
      handle_bye(rank);
      return;
    case control_kind::recover:
      rma_.handle_recover(rank, message.first_psn);
      return;
    case control_kind::recovered:
      rma_.handle_recovered(rank);
      return;
  }
}

void rdma_device::sent(const ibv_wc& entry) {
  const auto index = static_cast<uint32_t>(entry.wr_id >> 32);
  const auto rank = static_cast<int>(index / 2);
  const auto position = static_cast<uint32_t>(entry.wr_id);
  const char* const error = __builtin_expect(entry.status == IBV_WC_SUCCESS, 1)
                                ? nullptr
                                : verbs_.wc_status_str(entry.status);
  if (index % 2 != 0) {
    rma_.completed(rank, position, entry.status, error);
  } else {
    messages_.completed(rank, position, error);
  }
}

bool rdma_device::drained() {
  if (!lock_.try_lock()) return false;
  const std::lock_guard<ds::spinlock> guard(lock_, std::adopt_lock);
  bool all = true;
  for (int r = 0; r < context_.size(); ++r) {
    if (!peers_.is_alive(r)) continue;
    if (!rma_.is_idle(r)) all = false;
    if (peers_.messages(r).is_empty()) continue;
    all = false;
    messages_.send_marker(r);
  }
  return all;
}

// Connections and failures.

void rdma_device::connect_on_demand() {
  const bool look = polls_ % polls_between_connect_checks == 0;
  if (look) context_.answer_datagrams_except(*this);
  if (look || wanted_.any() || connections_.is_connecting()) advance_connections();
}

void rdma_device::answer_datagrams() {
  if (!lock_.try_lock()) return;  // another thread polls this device
  const std::lock_guard<ds::spinlock> guard(lock_, std::adopt_lock);
  advance_connections();
}

void rdma_device::advance_connections() {
  receive_datagrams();
  if (monitor_.has_notices()) monitor_.send_notices(std::chrono::steady_clock::now());
  connections_.advance([this](int rank) { monitor_.query_neighbors(rank); });
}

bool rdma_device::receive_datagrams() {
  return own_->datagrams.receive([this](const connect_datagram& got) { handle_datagram(got); });
}

void rdma_device::handle_datagram(const connect_datagram& got) {
  if (!is_valid(got, context_.size(), context_.rank())) {
    LCI_LOG(warn, "ibv: dropped a datagram that is not of this job");
    return;
  }
  const auto rank = static_cast<int>(got.rank);
  const peer_state state = peers_.state(rank);
  const bool declares_us_failed =
      got.kind == connect_datagram_kind::failed && peers_.is_self(static_cast<int>(got.about));
  // We have declared this peer failed. Notify it, so that it also fails us and neither side waits.
  if (state == peer_state::failed && !declares_us_failed) {
    connections_.send_datagram(rank, connect_datagram_kind::failed, rank);
  }
  if (state > peer_state::unconnected) return;
  if (got.kind == connect_datagram_kind::request || got.kind == connect_datagram_kind::reply) {
    connections_.handle(got);
  } else {
    monitor_.handle(got);
  }
}

[[gnu::noinline]] void rdma_device::check_for_failures() {
  const auto now = std::chrono::steady_clock::now();
  if (const auto passed = peers_.check_due(now); passed.count() > 0) {
    heartbeats_.send_due(passed, now);
  }
}

[[gnu::noinline]] void rdma_device::confirm_failures() {
  peers_.confirm_failures([this](int rank) {
    sink_.note_progress();
    connections_.stop(rank);
    rma_.stop(rank);
    sink_.give(make_event(completion_kind::peer_failed, rank));
    if (on_demand_) monitor_.close_ring(rank, std::chrono::steady_clock::now());
    return true;
  });
}

void rdma_device::handle_bye(int rank) {
  peers_.bye(rank);
  connections_.stop(rank);
  rma_.stop(rank);
}

}  // namespace lci::net::ibv
