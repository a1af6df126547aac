#include "lci/net/ofi/completion_reader.h"

#include <rdma/fi_errno.h>

#include <cstring>

#include "lci/base/log.h"
#include "lci/base/strings.h"
#include "lci/net/ofi/immediate.h"
#include "lci/net/ofi/library.h"

namespace lci::net::ofi {
namespace {

constexpr size_t entries_per_read = 16;
// Bounds a poll whose reads only return failures (receives that fail as soon as they are posted).
constexpr int reads_per_poll = 64;

}  // namespace

void completion_reader::read() {
  device_core& core = core_;  // one load for all, since the provider may change any memory
  for (int i = 0; i < reads_per_poll; ++i) {
    if (packets_.has_arrived() || core.sink.is_full()) return;
    fi_cq_data_entry entries[entries_per_read];
    ++core.looks;
    const ssize_t read = fi_cq_read(core.cq, entries, entries_per_read);
    if (read > 0) {
      core.sink.note_progress();
      for (ssize_t e = 0; e < read; ++e) take(entries[e]);
      if (static_cast<size_t>(read) < entries_per_read) {
        ++core.emptied;
        return;
      }
    } else if (read == -FI_EAVAIL) {
      core.sink.note_progress();
      take_error();
    } else {
      ++core.emptied;
      if (__builtin_expect(read != -FI_EAGAIN && read != 0, 0)) break_down(read);
      return;
    }
  }
}

// The completion queue has overrun, or its hardware is gone: no peer can be heard any more.
void completion_reader::break_down(int64_t code) {
  for (int r = 0; r < core_.ranks; ++r) {
    core_.suspect(
        r, base::StrCat("no completions of device ", core_.uid, " can be read: ", describe(code)));
  }
}

void completion_reader::take(const fi_cq_data_entry& entry) {
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
      packets_.receive(static_cast<packet&>(*finished), entry.len);
      return;
    case operation::kind::packet:
      packets_.sent(static_cast<packet&>(*finished));
      return;
    case operation::kind::access:
      rma_.access_done(static_cast<access&>(*finished));
      return;
  }
}

void completion_reader::take_remote_write(uint64_t data) {
  const uint32_t rank = immediate_layout::rank(data);
  if (rank >= static_cast<uint32_t>(core_.ranks)) {
    LCI_LOG(warn, "ofi: a write carried an invalid rank: ", rank);
    return;
  }
  const auto from = static_cast<int>(rank);
  if (!is_readable(core_.health.state(from))) return;
  core_.sink.give(make_event(completion_kind::remote_put, from, immediate_layout::imm(data)));
  if (!core_.is_self(from)) packets_.owe_credit(from);
}

void completion_reader::take_error() {
  fi_cq_err_entry error = {};
  if (fi_cq_readerr(core_.cq, &error, 0) <= 0) return;
  auto* finished = static_cast<operation*>(error.op_context);
  if (finished == nullptr) {
    LCI_LOG(warn, "ofi: an error without an operation: ", describe(error.err));
    return;
  }
  switch (finished->what) {
    case operation::kind::receive:
      // The bytes belong to no rank, or a connection broke; a send on it will fail and name the
      // rank.
      LCI_LOG(debug, "ofi: a receive failed: ", describe(error.err));
      packets_.receive_failed(static_cast<packet&>(*finished));
      return;
    case operation::kind::packet:
      packets_.sent(static_cast<packet&>(*finished), /*failed=*/true);
      core_.suspect(finished->rank,
                    base::StrCat("a packet did not reach it: ", describe(error.err)));
      return;
    case operation::kind::access:
      rma_.access_failed(static_cast<access&>(*finished), -error.err);
      return;
  }
}

void completion_reader::give() {
  // A caller that takes no completions (max is 0) still frees packets that hold no records.
  while (packets_.has_arrived()) {
    packet& arrived = packets_.front();
    read_packet(arrived);
    if (arrived.position < arrived.size) return;  // full
    packets_.pop_front();
  }
}

void completion_reader::read_packet(packet& arrived) {
  if (core_.health.state(arrived.rank) == peer_state::corrupt) arrived.position = arrived.size;
  while (arrived.position < arrived.size && core_.sink.room() > 0) {
    incoming_record record;
    size_t position = arrived.position;
    if (!read_record(arrived.bytes, arrived.size, &position, &record) || !take(arrived, record)) {
      core_.health.corrupt(arrived.rank, "it sent a malformed message");
      arrived.position = arrived.size;
      return;
    }
    arrived.position = static_cast<uint32_t>(position);
    core_.sink.note_progress();
  }
}

// Returns false if the record is malformed. There is room for a completion.
bool completion_reader::take(packet& from, const incoming_record& record) {
  switch (record.kind) {
    case record_kind::send: {
      if (record.size > packets_.settings().largest_message) return false;
      completion received = make_event(completion_kind::recv, from.rank, record.imm);
      received.size = record.size;
      if (record.size <= sizeof(received.small)) {
        // All 8 bytes are in the packet, since records are padded.
        if (record.size > 0) std::memcpy(received.small, record.bytes, sizeof(received.small));
        received.is_small = true;
        core_.sink.deliver(received);
        return true;
      }
      received.buffer = record.bytes;
      received.lease = reinterpret_cast<uintptr_t>(&from);
      from.users.fetch_add(1, std::memory_order_relaxed);
      core_.sink.deliver(received);
      return true;
    }
    case record_kind::put_done:
      core_.sink.deliver(make_event(completion_kind::remote_put, from.rank, record.imm));
      return true;
    case record_kind::put:
    case record_kind::pull:
    case record_kind::get:
    case record_kind::push:
      return rma_.take_request(from.rank, record);
    case record_kind::reply:
      return rma_.take_reply(from.rank, record);
    case record_kind::bye:
      failures_.bye(from.rank);
      return true;
  }
  return false;
}

}  // namespace lci::net::ofi
