// Polling: what libfabric reports, and what comes of it.
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
// What only keeps us busy (receives that fail as soon as they are posted) must not keep us here.
constexpr int reads_per_poll = 64;
// The clock is read once in so many polls.
constexpr uint32_t polls_between_looks = 256;

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
  if (__builtin_expect(with(operation.rank).state != peer_state::alive, 0)) {
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

error_t ofi_device::inject(int rank, net_imm_data_t imm, const void* buffer, size_t size) {
  if (!lock_->try_lock()) return errorcode_t::retry_lock;
  const std::lock_guard<ds::spinlock> guard(*lock_, std::adopt_lock);
  if (__builtin_expect(with(rank).state != peer_state::alive, 0)) return errorcode_t::fatal;
  outgoing_record record;
  record.imm = imm;
  record.body = buffer;
  record.body_size = size;
  return append(rank, record, claim::post) ? errorcode_t::done : errorcode_t::retry_nomem;
}

error_t ofi_device::poll(completion* out, size_t max, size_t* count) {
  *count = 0;
  if (!lock_->try_lock()) return errorcode_t::retry_lock;
  const std::lock_guard<ds::spinlock> guard(*lock_, std::adopt_lock);
  batch given{out, max};
  moved_ = false;
  // Before anything else: others wait for it.
  if (!waiting_.empty()) work_off();
  if (!returned_.empty() || !over_.empty()) take_returned();
  if (has_more_to_give()) give(&given);
  read_completions(given);
  if (has_more_to_give()) give(&given);
  if (!waiting_.empty()) work_off();
  if (++polls_ % polls_between_looks == 0) look_for_failures();
  if (__builtin_expect(suspects_ > 0, 0)) judge();
  *count = given.count;
  return moved_ || given.count > 0 ? errorcode_t::done : errorcode_t::retry;
}

bool ofi_device::drained() {
  if (!lock_->try_lock()) return false;
  const std::lock_guard<ds::spinlock> guard(*lock_, std::adopt_lock);
  // Much of what seems to be under way is over, and only has to be asked for.
  read_completions(batch{nullptr, 0});
  if (!waiting_.empty()) work_off();
  if (free_accesses_.size() != access_count_) return false;
  bool all = true;
  for (int r = 0; r < ranks_; ++r) {
    const peer& other = with(r);
    if (other.state != peer_state::alive) continue;
    if (!confirm(r) || other.open != nullptr || other.in_flight > 0 || !other.owes.empty() ||
        other.free_requests != ~uint32_t{0}) {
      all = false;
    }
  }
  return all;
}

std::vector<int> ofi_device::wait_descriptors() const {
  if (!tells_) return {};
  return {own_->end.descriptor(), sleeper_.descriptor()};
}

std::chrono::microseconds ofi_device::arm() {
  constexpr std::chrono::microseconds not_now{0};
  if (!lock_->try_lock()) return not_now;
  const std::lock_guard<ds::spinlock> guard(*lock_, std::adopt_lock);
  look_for_failures();
  moved_ = false;
  if (!waiting_.empty()) work_off();
  if (moved_ || has_more_to_give() || !returned_.empty()) return not_now;
  if (!tells_) return short_sleep;
  // What a post leaves behind needs the lock, and so comes before this or finds it armed.
  sleeper_.arm();
  // Some providers then look at what has come, some leave that to who finds it readable.
  fid* queue = &own_->end.cq()->fid;
  if (fi_trywait(own_->fabric.get(), &queue, 1) != FI_SUCCESS ||
      is_readable(own_->end.descriptor())) {
    sleeper_.disarm();
    return not_now;
  }
  // Of these, some may leave or be judged at any time, and nothing tells when.
  const bool soon = !waiting_.empty() || !over_.empty() || suspects_ > 0;
  return soon ? short_sleep : long_sleep;
}

// With packets left to be read there is no room for what more would come of it.
void ofi_device::read_completions(const batch& given) {
  for (int i = 0; i < reads_per_poll; ++i) {
    if (!arrived_.empty() || (given.full() && given.max > 0)) return;
    fi_cq_data_entry entries[entries_per_read];
    ++looks_;
    const ssize_t read = fi_cq_read(own_->end.cq(), entries, entries_per_read);
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

// The completion queue has overrun, or its hardware is gone: nothing is heard of anybody any more.
void ofi_device::break_down(int64_t code) {
  for (int r = 0; r < ranks_; ++r) {
    suspect(r, base::StrCat("no completions of device ", config_.uid,
                            " can be read: ", describe(code)));
  }
}

void ofi_device::take(const fi_cq_data_entry& entry) {
  // Of a peer's write: it completes nothing of ours. (Some providers repeat FI_REMOTE_CQ_DATA to
  // the writer.)
  constexpr uint64_t written_here = FI_RMA | FI_REMOTE_CQ_DATA;
  if ((entry.flags & FI_REMOTE_WRITE) != 0 ||
      (entry.flags & (written_here | FI_WRITE)) == written_here) {
    take_remote_write(entry.data);
    return;
  }
  auto* over = static_cast<operation*>(entry.op_context);
  switch (over->what) {
    case operation::kind::receive:
      receive(static_cast<packet&>(*over), entry.len);
      return;
    case operation::kind::packet:
      sent(static_cast<packet&>(*over));
      return;
    case operation::kind::access:
      finished(static_cast<access&>(*over), /*failed=*/false);
      return;
  }
}

void ofi_device::take_remote_write(uint64_t data) {
  const uint32_t rank = immediate_layout::rank(data);
  if (rank >= peers_.size()) {
    LCI_LOG(warn, "ofi: a write came with the number of no rank: ", rank);
    return;
  }
  const auto from = static_cast<int>(rank);
  const peer_state state = with(from).state;
  if (state != peer_state::alive && state != peer_state::suspected) return;
  ready_.push_back(make_completion(completion_kind::remote_put, from, immediate_layout::imm(data)));
  if (is_us(from)) return;
  with(from).with.owe();
  if (with(from).with.owes_many()) wait(from);
}

void ofi_device::take_error() {
  fi_cq_err_entry error = {};
  if (fi_cq_readerr(own_->end.cq(), &error, 0) <= 0) return;
  auto* over = static_cast<operation*>(error.op_context);
  if (over == nullptr) {
    LCI_LOG(warn, "ofi: an error of no operation: ", describe(error.err));
    return;
  }
  switch (over->what) {
    case operation::kind::receive: {
      // Nobody's bytes, or those of a connection that broke; its other end is told by what we send.
      LCI_LOG(debug, "ofi: a receive failed: ", describe(error.err));
      auto& here = static_cast<packet&>(*over);
      here.costs = false;
      recycle(here);
      return;
    }
    case operation::kind::packet: {
      const int rank = over->rank;
      sent(static_cast<packet&>(*over));
      suspect(rank, base::StrCat("a packet did not reach it: ", describe(error.err)));
      return;
    }
    case operation::kind::access: {
      const int rank = over->rank;
      finished(static_cast<access&>(*over), /*failed=*/true);
      // Of memory that is not open only the one who asked is to hear.
      if (error.err != FI_EACCES && error.err != FI_EPERM && error.err != FI_EINVAL &&
          error.err != FI_ENOKEY) {
        suspect(rank, base::StrCat("its memory could not be reached: ", describe(error.err)));
      }
      return;
    }
  }
}

void ofi_device::give(batch* given) {
  while (!given->full() && !ready_.empty()) {
    given->add(ready_.front());
    ready_.pop_front();
  }
  while (!given->full() && !arrived_.empty()) {
    packet& here = *arrived_.front();
    read_packet(here, given);
    if (here.position < here.size) return;  // full
    arrived_.pop_front();
    stop_using(here);
  }
  // Of those who get nothing (max is 0): packets without records are done with all the same.
  while (given->max == 0 && !arrived_.empty() &&
         arrived_.front()->position == arrived_.front()->size) {
    packet& here = *arrived_.front();
    arrived_.pop_front();
    stop_using(here);
  }
}

void ofi_device::read_packet(packet& here, batch* given) {
  const int rank = here.rank;
  while (here.position < here.size && !given->full()) {
    incoming_record record;
    size_t position = here.position;
    if (with(rank).state == peer_state::corrupt ||
        !read_record(here.bytes, here.size, &position, &record) || !take(here, record, given)) {
      suspect_corrupt(rank, "it sent a malformed message");
      here.position = here.size;
      return;
    }
    here.position = static_cast<uint32_t>(position);
    moved_ = true;
  }
}

bool ofi_device::take(packet& from, const incoming_record& record, batch* given) {
  switch (record.kind) {
    case record_kind::send: {
      if (record.size > limits().max_send) return false;
      completion received = make_completion(completion_kind::recv, from.rank, record.imm);
      received.size = record.size;
      if (record.size <= sizeof(received.small)) {
        // All 8 are in the packet: records are filled up.
        if (record.size > 0) std::memcpy(received.small, record.bytes, sizeof(received.small));
        received.is_small = true;
        given->add(received);
        return true;
      }
      received.buffer = record.bytes;
      received.lease = reinterpret_cast<uintptr_t>(&from);
      from.users.fetch_add(1, std::memory_order_relaxed);
      given->add(received);
      return true;
    }
    case record_kind::put_done:
      given->add(make_completion(completion_kind::remote_put, from.rank, record.imm));
      return true;
    case record_kind::put:
    case record_kind::pull:
    case record_kind::get:
    case record_kind::push:
      return take_request(from.rank, record, given);
    case record_kind::reply:
      return take_reply(from.rank, record, given);
    case record_kind::bye:
      take_bye(from.rank);
      return true;
  }
  return false;
}

}  // namespace lci::net::ofi
