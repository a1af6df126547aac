// Posting sends, and polling: reads the completion queue and processes its entries.
#include <poll.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>

#include <cstring>
#include <mutex>

#include "lci/base/log.h"
#include "lci/base/strings.h"
#include "lci/net/ofi/device.h"
#include "lci/net/ofi/library.h"

namespace lci::net::ofi {
namespace {

constexpr size_t entries_per_read = 16;
// Bounds a poll whose reads only return failures (receives that fail as soon as they are posted).
constexpr int reads_per_poll = 64;
// Polls between two reads of the clock.
constexpr uint32_t polls_between_checks = 256;

completion make_completion(completion_kind kind, int rank, uint32_t imm) {
  completion made;
  made.kind = kind;
  made.rank = rank;
  made.imm = imm;
  return made;
}

bool is_readable(int descriptor) {
  pollfd now = {descriptor, POLLIN, 0};
  return ::poll(&now, 1, 0) != 0;
}

}  // namespace

error_t ofi_device::post(const op& operation) {
  if (!lock_->try_lock()) return errorcode_t::retry_lock;
  const std::lock_guard<ds::spinlock> guard(*lock_, std::adopt_lock);
  if (__builtin_expect(peer_of(operation.rank).state != peer_state::alive, 0)) {
    return errorcode_t::fatal;
  }
  if (operation.kind != op_kind::send) return post_rma(operation);
  outgoing_record record;
  record.imm = operation.imm;
  record.header = operation.header;
  record.header_size = operation.header_size;
  record.body = operation.buffer;
  record.body_size = operation.size;
  return append(operation.rank, record, claim::post) ? errorcode_t::done : errorcode_t::retry_nomem;
}

error_t ofi_device::post_short(short_op what, net_imm_data_t imm, void* buffer, size_t size,
                               const remote_place* where) {
  if (__builtin_expect(what.kind != op_kind::send || size > limits_.max_inject, 0)) {
    return device::post_short(what, imm, buffer, size, where);
  }
  if (!lock_->try_lock()) return errorcode_t::retry_lock;
  const std::lock_guard<ds::spinlock> guard(*lock_, std::adopt_lock);
  if (__builtin_expect(peer_of(what.rank).state != peer_state::alive, 0)) return errorcode_t::fatal;
  outgoing_record record;
  record.imm = imm;
  record.body = buffer;
  record.body_size = size;
  return append(what.rank, record, claim::post) ? errorcode_t::done : errorcode_t::retry_nomem;
}

error_t ofi_device::poll(completion* out, size_t max, size_t* count) {
  *count = 0;
  if (!lock_->try_lock()) return errorcode_t::retry_lock;
  const std::lock_guard<ds::spinlock> guard(*lock_, std::adopt_lock);
  batch results{out, max};
  moved_ = false;
  // First, since peers wait for it.
  if (!pending_.empty()) process_pending();
  if (!returned_.empty() || !finished_.empty()) take_returned();
  if (has_more_to_give()) give(&results);
  read_completions(results);
  if (has_more_to_give()) give(&results);
  if (!pending_.empty()) process_pending();
  if (++polls_ % polls_between_checks == 0) check_for_failures();
  if (__builtin_expect(suspects_ > 0, 0)) confirm_failures();
  *count = results.count;
  return moved_ || results.count > 0 ? errorcode_t::done : errorcode_t::retry;
}

bool ofi_device::drained() {
  if (!lock_->try_lock()) return false;
  const std::lock_guard<ds::spinlock> guard(*lock_, std::adopt_lock);
  // Many operations are complete, but their completions have not been read yet.
  read_completions(batch{nullptr, 0});
  if (!pending_.empty()) process_pending();
  if (free_accesses_.size() != access_count_) return false;
  bool all = true;
  for (int r = 0; r < ranks_; ++r) {
    const peer& other = peer_of(r);
    if (other.state != peer_state::alive) continue;
    if (!confirm(r) || other.filling != nullptr || other.in_flight > 0 || !other.deferred.empty() ||
        other.free_requests != ~uint32_t{0}) {
      all = false;
    }
  }
  return all;
}

bool ofi_device::has_left(int rank) {
  if (!lock_->try_lock()) return false;
  const std::lock_guard<ds::spinlock> guard(*lock_, std::adopt_lock);
  return peer_of(rank).state == peer_state::ended;
}

std::vector<int> ofi_device::wait_descriptors() const {
  if (!notifies_) return {};
  return {own_->ep.descriptor(), sleeper_.descriptor()};
}

std::chrono::microseconds ofi_device::arm() {
  constexpr std::chrono::microseconds not_now{0};
  if (!lock_->try_lock()) return not_now;
  const std::lock_guard<ds::spinlock> guard(*lock_, std::adopt_lock);
  check_for_failures();
  moved_ = false;
  if (!pending_.empty()) process_pending();
  if (moved_ || has_more_to_give() || !returned_.empty()) return not_now;
  if (!notifies_) return short_sleep;
  // A post that leaves work behind takes the lock: it comes before this, or finds the sleeper
  // armed.
  sleeper_.arm();
  // Some providers check for completions in this call; others only make the descriptor readable.
  fid* queue = &own_->ep.cq()->fid;
  if (fi_trywait(own_->fabric.get(), &queue, 1) != FI_SUCCESS ||
      is_readable(own_->ep.descriptor())) {
    sleeper_.disarm();
    return not_now;
  }
  // Retries and failure decisions are due without an event.
  const bool soon = !pending_.empty() || !finished_.empty() || suspects_ > 0;
  return soon ? short_sleep : long_sleep;
}

// Reads nothing while received packets are left to be processed: there is no room for more.
void ofi_device::read_completions(const batch& results) {
  for (int i = 0; i < reads_per_poll; ++i) {
    if (!arrived_.empty() || (results.full() && results.max > 0)) return;
    fi_cq_data_entry entries[entries_per_read];
    ++looks_;
    const ssize_t read = fi_cq_read(own_->ep.cq(), entries, entries_per_read);
    if (read > 0) {
      moved_ = true;
      for (ssize_t e = 0; e < read; ++e) take(entries[e]);
      if (static_cast<size_t>(read) < entries_per_read) {
        ++emptied_;
        return;
      }
    } else if (read == -FI_EAVAIL) {
      moved_ = true;
      take_error();
    } else {
      ++emptied_;
      if (__builtin_expect(read != -FI_EAGAIN && read != 0, 0)) break_down(read);
      return;
    }
  }
}

// The completion queue has overrun, or its hardware is gone: no peer can be heard any more.
void ofi_device::break_down(int64_t code) {
  for (int r = 0; r < ranks_; ++r) {
    suspect(r, base::StrCat("no completions of device ", config_.uid,
                            " can be read: ", describe(code)));
  }
}

void ofi_device::take(const fi_cq_data_entry& entry) {
  // A write by a peer, which completes no operation of this rank. (Some providers repeat
  // FI_REMOTE_CQ_DATA to the writer.)
  constexpr uint64_t written_here = FI_RMA | FI_REMOTE_CQ_DATA;
  if ((entry.flags & FI_REMOTE_WRITE) != 0 ||
      (entry.flags & (written_here | FI_WRITE)) == written_here) {
    take_remote_write(entry.data);
    return;
  }
  auto* finished = static_cast<operation*>(entry.op_context);
  switch (finished->what) {
    case operation::kind::receive:
      receive(static_cast<packet&>(*finished), entry.len);
      return;
    case operation::kind::packet:
      sent(static_cast<packet&>(*finished));
      return;
    case operation::kind::access:
      access_done(static_cast<access&>(*finished), /*failed=*/false);
      return;
  }
}

void ofi_device::take_remote_write(uint64_t data) {
  const uint32_t rank = immediate_layout::rank(data);
  if (rank >= peers_.size()) {
    LCI_LOG(warn, "ofi: a write carried an invalid rank: ", rank);
    return;
  }
  const auto from = static_cast<int>(rank);
  const peer_state state = peer_of(from).state;
  if (state != peer_state::alive && state != peer_state::suspected) return;
  ready_.push_back(make_completion(completion_kind::remote_put, from, immediate_layout::imm(data)));
  if (is_self(from)) return;
  peer_of(from).credit.owe();
  if (peer_of(from).credit.owes_many()) add_pending(from);
}

void ofi_device::take_error() {
  fi_cq_err_entry error = {};
  if (fi_cq_readerr(own_->ep.cq(), &error, 0) <= 0) return;
  auto* finished = static_cast<operation*>(error.op_context);
  if (finished == nullptr) {
    LCI_LOG(warn, "ofi: an error without an operation: ", describe(error.err));
    return;
  }
  switch (finished->what) {
    case operation::kind::receive: {
      // The bytes belong to no rank, or a connection broke; a send on it will fail and name the
      // rank.
      LCI_LOG(debug, "ofi: a receive failed: ", describe(error.err));
      auto& arrived = static_cast<packet&>(*finished);
      arrived.costs = false;
      recycle(arrived);
      return;
    }
    case operation::kind::packet: {
      const int rank = finished->rank;
      sent(static_cast<packet&>(*finished));
      suspect(rank, base::StrCat("a packet did not reach it: ", describe(error.err)));
      return;
    }
    case operation::kind::access: {
      const int rank = finished->rank;
      access_done(static_cast<access&>(*finished), /*failed=*/true);
      // Memory that is not open is an error of the requester only.
      if (error.err != FI_EACCES && error.err != FI_EPERM && error.err != FI_EINVAL &&
          error.err != FI_ENOKEY) {
        suspect(rank, base::StrCat("its memory could not be reached: ", describe(error.err)));
      }
      return;
    }
  }
}

void ofi_device::give(batch* results) {
  while (!results->full() && !ready_.empty()) {
    results->add(ready_.front());
    ready_.pop_front();
  }
  while (!results->full() && !arrived_.empty()) {
    packet& arrived = *arrived_.front();
    read_packet(arrived, results);
    if (arrived.position < arrived.size) return;  // full
    arrived_.pop_front();
    drop_user(arrived);
  }
  // A caller that takes no completions (max is 0) still frees packets without records.
  while (results->max == 0 && !arrived_.empty() &&
         arrived_.front()->position == arrived_.front()->size) {
    packet& arrived = *arrived_.front();
    arrived_.pop_front();
    drop_user(arrived);
  }
}

void ofi_device::read_packet(packet& arrived, batch* results) {
  const int rank = arrived.rank;
  while (arrived.position < arrived.size && !results->full()) {
    incoming_record record;
    size_t position = arrived.position;
    if (peer_of(rank).state == peer_state::corrupt ||
        !read_record(arrived.bytes, arrived.size, &position, &record) ||
        !take(arrived, record, results)) {
      suspect_corrupt(rank, "it sent a malformed message");
      arrived.position = arrived.size;
      return;
    }
    arrived.position = static_cast<uint32_t>(position);
    moved_ = true;
  }
}

bool ofi_device::take(packet& from, const incoming_record& record, batch* results) {
  switch (record.kind) {
    case record_kind::send: {
      if (record.size > limits().max_send) return false;
      completion received = make_completion(completion_kind::recv, from.rank, record.imm);
      received.size = record.size;
      if (record.size <= sizeof(received.small)) {
        // All 8 bytes are in the packet, since records are padded.
        if (record.size > 0) std::memcpy(received.small, record.bytes, sizeof(received.small));
        received.is_small = true;
        results->add(received);
        return true;
      }
      received.buffer = record.bytes;
      received.lease = reinterpret_cast<uintptr_t>(&from);
      from.users.fetch_add(1, std::memory_order_relaxed);
      results->add(received);
      return true;
    }
    case record_kind::put_done:
      results->add(make_completion(completion_kind::remote_put, from.rank, record.imm));
      return true;
    case record_kind::put:
    case record_kind::pull:
    case record_kind::get:
    case record_kind::push:
      return take_request(from.rank, record, results);
    case record_kind::reply:
      return take_reply(from.rank, record, results);
    case record_kind::bye:
      handle_bye(from.rank);
      return true;
  }
  return false;
}

}  // namespace lci::net::ofi
