#include "lci/net/ofi/packet_path.h"

#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include <cstring>

#include "lci/base/log.h"
#include "lci/base/strings.h"
#include "lci/net/ofi/library.h"
#include "lci/net/ofi/provider.h"

namespace lci::net::ofi {

packet_path::packet_path(device_core& core, const packet_settings& settings)
    : core_(core),
      settings_(settings),
      coalescing_(settings.coalescing_bytes, settings.packet_bytes),
      peers_(static_cast<size_t>(core.ranks)) {
  for (peer& each : peers_) each.credit.set(settings_.credits_each);
}

base::Status packet_path::open() {
  const size_t sends = core_.own->outgoing.count();
  const size_t receives = core_.own->incoming.count();
  arrived_.reserve(sends + receives);
  finished_.reserve(sends + receives);
  for (size_t i = 0; i < sends; ++i) free_packets_.push_back(&core_.own->outgoing.at(i));
  for (size_t i = 0; i < receives; ++i) {
    const int64_t refused = repost(core_.own->incoming.at(i));
    if (refused == 0) continue;
    if (refused != -FI_EAGAIN) return failure("posting a receive", refused);
    return base::ResourceExhaustedError(
        base::StrCat("it takes only ", i, " receives of the ", receives, " for ", core_.ranks,
                     " ranks; choose another (ofi_provider_name), or start fewer"));
  }
  return base::OkStatus();
}

bool packet_path::append(int rank, const outgoing_record& record, claim by, void* context) {
  peer& to = peer_of(rank);
  const bool alone =
      to.filling == nullptr && to.left_at != core_.looks && !to.bursts && !core_.is_self(rank);
  if (alone && context == nullptr && inject_alone(rank, record)) return true;
  const size_t span = record.span();
  const bool must_leave =
      to.filling != nullptr && (!coalescing_.takes(to.filling->size, span) ||
                                (context != nullptr && to.filling->is_awaited_by_most()));
  if (must_leave && !flush(rank)) return false;
  if (to.filling == nullptr) {
    to.filling = take_packet(rank, by);
    if (to.filling == nullptr) return false;
  }
  write_record(record, to.filling->bytes + to.filling->size);
  to.filling->size += static_cast<uint32_t>(span);
  ++to.filling->records;
  if (context != nullptr) to.filling->contexts[to.filling->awaited++] = context;
  if ((alone || coalescing_.is_full(to.filling->size)) && flush(rank)) return true;
  // A packet with more records is pending since its first one.
  if (to.filling->records == 1) core_.add_pending(rank);
  return true;
}

// Returns a packet that has room reserved for its header only, or null.
packet* packet_path::take_packet(int rank, claim by) {
  const size_t kept = by == claim::post ? settings_.sends_of_progress : 0;
  if (free_packets_.size() <= kept) return nullptr;
  packet* taken = free_packets_.back();
  free_packets_.pop_back();
  taken->rank = rank;
  taken->size = sizeof(packet_header);
  taken->records = 0;
  return taken;
}

// Sends the packet that is being filled. Returns false if it has to wait.
bool packet_path::flush(int rank) {
  peer& to = peer_of(rank);
  packet& leaving = *to.filling;
  if (!to.credit.any()) return false;
  if (core_.is_self(rank)) {
    leaving.position = sizeof(packet_header);
    leaving.users.store(1, std::memory_order_relaxed);
    arrived_.push_back(&leaving);
    core_.wake_sleeper();
  } else {
    if (!send(leaving, /*free=*/false)) return false;
  }
  to.credit.spend();
  to.bursts = leaving.records > 1;
  to.filling = nullptr;
  return true;
}

bool packet_path::send_free(int rank, const outgoing_record* record) {
  packet* leaving = take_packet(rank, claim::progress);
  if (leaving == nullptr) return false;
  if (record != nullptr) {
    write_record(*record, leaving->bytes + leaving->size);
    leaving->size += static_cast<uint32_t>(record->span());
  }
  if (send(*leaving, /*free=*/true)) return true;
  free_packets_.push_back(leaving);
  return false;
}

// Injects a message as a packet that libfabric copies and does not report. Returns false, and
// nothing happened, if the message is too large or has to wait.
bool packet_path::inject_alone(int rank, const outgoing_record& record) {
  peer& to = peer_of(rank);
  const size_t size = sizeof(packet_header) + record.span();
  if (size > settings_.inject_bytes || !to.credit.any()) return false;
  alignas(packet_header) unsigned char bytes[most_injected_bytes];
  write_record(record, bytes + sizeof(packet_header));
  const bool left = hand_over(rank, reinterpret_cast<packet_header*>(bytes), /*free=*/false, [&] {
    return fi_inject(core_.ep, bytes, size, core_.address(rank));
  });
  if (!left) return false;
  to.unconfirmed = true;
  to.credit.spend();
  return true;
}

bool packet_path::drain(int rank) {
  const peer& to = peer_of(rank);
  if (to.unconfirmed) {
    send_behind(rank);
    return false;
  }
  return to.filling == nullptr && to.in_flight == 0;
}

void packet_path::probe(int rank) {
  const peer& to = peer_of(rank);
  if (to.filling == nullptr && to.in_flight == 0 && to.credit.any()) send_behind(rank);
}

// Sends a packet that libfabric reports, with the coalesced messages or empty. It costs a credit.
void packet_path::send_behind(int rank) {
  peer& to = peer_of(rank);
  if (to.filling == nullptr) to.filling = take_packet(rank, claim::progress);
  if (to.filling != nullptr && !flush(rank)) core_.add_pending(rank);
}

// Hands a filled packet to the provider. Returns false, and nothing happened, if the provider does
// not take it now. `free`: the packet costs no credit.
bool packet_path::send(packet& leaving, bool free) {
  peer& to = peer_of(leaving.rank);
  const bool left = hand_over(leaving.rank, &leaving.header(), free, [&] {
    return fi_send(core_.ep, leaving.bytes, leaving.size, core_.own->outgoing.descriptor(),
                   core_.address(leaving.rank), &leaving.context);
  });
  if (!left) return false;
  ++to.in_flight;
  to.unconfirmed = false;
  return true;
}

// Completes the header, including the credits owed to the rank, and calls `hand`.
template <class Hand>
bool packet_path::hand_over(int rank, packet_header* header, bool free, Hand hand) {
  device_core& core = core_;  // one load for all, since the provider may change any memory
  peer& to = peer_of(rank);
  const uint8_t paid = to.credit.pay();
  *header = {static_cast<uint32_t>(core.rank), to.token, paid, static_cast<uint8_t>(free ? 1 : 0)};
  const int64_t code = hand();
  if (__builtin_expect(code == 0, 1)) {
    to.left_at = core.looks;
    return true;
  }
  to.credit.unpay(paid);
  if (code != -FI_EAGAIN) {
    core.suspect(rank, base::StrCat("a packet could not be sent to it: ", describe(code)));
  }
  return false;
}

void packet_path::sent(packet& finished, bool failed) {
  --peer_of(finished.rank).in_flight;
  if (__builtin_expect(finished.awaited > 0, 0)) complete_awaited(finished, failed);
  free_packets_.push_back(&finished);
}

void packet_path::complete_awaited(packet& of, bool failed) {
  for (uint32_t i = 0; i < of.awaited; ++i) {
    core_.sink.give(make_completion(op_kind::send, of.rank, of.contexts[i], failed));
  }
  of.awaited = 0;
}

void packet_path::receive_failed(packet& failed) {
  failed.costs = false;
  recycle(failed);
}

void packet_path::receive(packet& arrived, size_t size) {
  arrived.rank = -1;
  arrived.costs = false;
  arrived.users.store(1, std::memory_order_relaxed);
  packet_header header = {};
  if (size >= sizeof(header)) std::memcpy(&header, arrived.bytes, sizeof(header));
  const auto source = static_cast<int>(header.source);
  if (size < sizeof(header) || size > settings_.packet_bytes || header.source >= peers_.size() ||
      core_.is_self(source) || header.token != settings_.token) {
    LCI_LOG(warn, "ofi: dropped a packet of ", size, " bytes that is not of this job");
    drop_user(arrived);
    return;
  }
  peer& from = peer_of(source);
  arrived.rank = source;
  if (!is_readable(core_.health.state(source))) {
    drop_user(arrived);
    return;
  }
  arrived.costs = header.free == 0;
  if (!from.credit.earn(header.credits)) {
    core_.health.corrupt(source, "it returned more credits than it had received");
    drop_user(arrived);
    return;
  }
  from.greeted = true;
  core_.heard[static_cast<size_t>(source)] = core_.emptied;
  // The packet may have been waiting for credits.
  if (from.filling != nullptr) core_.add_pending(source);
  arrived.size = static_cast<uint32_t>(size);
  arrived.position = sizeof(packet_header);
  arrived_.push_back(&arrived);
}

// The packet is recycled at the next poll, so that its messages are delivered first.
void packet_path::drop_user(packet& used) {
  if (used.drop_user()) finished_.push_back(&used);
}

void packet_path::release(packet& used) {
  if (used.drop_user()) returned_.put(used);
}

void packet_path::repost_all() {
  for (size_t left = finished_.size(); left > 0; --left) {
    packet* const finished = finished_.front();
    finished_.pop_front();
    recycle(*finished);
  }
  if (returned_.empty()) return;
  returned_.take_all([this](packet& finished) { recycle(finished); });
}

void packet_path::recycle(packet& finished) {
  if (finished.what == operation::kind::packet) {  // sent to this rank
    peer_of(finished.rank).credit.refund();
    free_packets_.push_back(&finished);
    return;
  }
  const bool costs = finished.costs;
  const int rank = finished.rank;
  if (repost(finished) != 0) {
    finished_.push_back(&finished);
    return;
  }
  if (costs) owe_credit(rank);
}

// Returns 0 or libfabric's error.
int64_t packet_path::repost(packet& finished) {
  const int64_t code = fi_recv(core_.ep, finished.bytes, settings_.packet_bytes,
                               core_.own->incoming.descriptor(), FI_ADDR_UNSPEC, &finished.context);
  if (code == 0) finished.costs = false;
  return code;
}

bool packet_path::send_pending(int rank) {
  peer& to = peer_of(rank);
  if (to.filling != nullptr && flush(rank)) core_.sink.note_progress();
  // A packet for credits alone: there are no other bytes, or no credit to send them.
  if (to.credit.owes_many() && !core_.is_self(rank) && send_free(rank, nullptr))
    core_.sink.note_progress();
  return to.filling != nullptr || to.credit.owes_many();
}

void packet_path::forget(int rank) {
  for (size_t i = 0; i < core_.own->outgoing.count(); ++i) {
    packet& each = core_.own->outgoing.at(i);
    if (each.rank == rank) complete_awaited(each, /*failed=*/true);
  }
  peer& gone = peer_of(rank);
  if (gone.filling == nullptr) return;
  free_packets_.push_back(gone.filling);
  gone.filling = nullptr;
}

}  // namespace lci::net::ofi
