// Packets: filling, sending, receiving and recycling.
#include <rdma/fi_errno.h>

#include <cstring>

#include "lci/base/log.h"
#include "lci/base/strings.h"
#include "lci/net/ofi/device.h"
#include "lci/net/ofi/library.h"

namespace lci::net::ofi {

bool ofi_device::append(int rank, const outgoing_record& record, claim by) {
  peer& to = peer_of(rank);
  const bool alone = to.filling == nullptr && to.left_at != looks_ && !to.bursts && !is_self(rank);
  if (alone && inject_alone(rank, record)) return true;
  const size_t span = record.span();
  if (to.filling != nullptr && !coalescing_.takes(to.filling->size, span) && !flush(rank)) {
    return false;
  }
  if (to.filling == nullptr) {
    to.filling = take_packet(rank, by);
    if (to.filling == nullptr) return false;
  }
  write_record(record, to.filling->bytes + to.filling->size);
  to.filling->size += static_cast<uint32_t>(span);
  ++to.filling->records;
  if ((alone || coalescing_.is_full(to.filling->size)) && flush(rank)) return true;
  add_pending(rank);
  return true;
}

// Returns a packet that has room reserved for its header only, or null.
packet* ofi_device::take_packet(int rank, claim by) {
  const size_t kept = by == claim::post ? config_.queues.sends_of_progress : 0;
  if (free_packets_.size() <= kept) return nullptr;
  packet* taken = free_packets_.back();
  free_packets_.pop_back();
  taken->rank = rank;
  taken->size = sizeof(packet_header);
  taken->records = 0;
  return taken;
}

// Sends the packet that is being filled. Returns false if it has to wait.
bool ofi_device::flush(int rank) {
  peer& to = peer_of(rank);
  packet& leaving = *to.filling;
  if (!to.credit.any()) return false;
  if (is_self(rank)) {
    leaving.position = sizeof(packet_header);
    leaving.users.store(1, std::memory_order_relaxed);
    arrived_.push_back(&leaving);
    wake_sleeper();
  } else {
    if (!send(leaving, /*free=*/false)) return false;
  }
  to.credit.spend();
  to.bursts = leaving.records > 1;
  to.filling = nullptr;
  return true;
}

// Sends `record`, or nothing, in a packet that costs no credit (credits.h says which may). Returns
// false if it has to wait.
bool ofi_device::send_free(int rank, const outgoing_record* record) {
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
bool ofi_device::inject_alone(int rank, const outgoing_record& record) {
  peer& to = peer_of(rank);
  const size_t size = sizeof(packet_header) + record.span();
  if (size > inject_bytes_ || !to.credit.any()) return false;
  alignas(packet_header) unsigned char bytes[most_injected_bytes];
  write_record(record, bytes + sizeof(packet_header));
  const bool left = hand_over(rank, reinterpret_cast<packet_header*>(bytes), /*free=*/false,
                              [&] { return fi_inject(own_->ep.ep(), bytes, size, to.address); });
  if (!left) return false;
  to.unconfirmed = true;
  to.credit.spend();
  return true;
}

// Sends a packet behind injected ones, so that its completion shows that they have left. Returns
// true if there is nothing to confirm.
bool ofi_device::confirm(int rank) {
  peer& to = peer_of(rank);
  if (!to.unconfirmed) return true;
  send_behind(rank);
  return false;
}

// Sends a packet that libfabric reports, with the coalesced messages or empty. It costs a credit.
void ofi_device::send_behind(int rank) {
  peer& to = peer_of(rank);
  if (to.filling == nullptr) to.filling = take_packet(rank, claim::progress);
  if (to.filling != nullptr && !flush(rank)) add_pending(rank);
}

// Hands a filled packet to the provider. Returns false, and nothing happened, if the provider does
// not take it now. `free`: the packet costs no credit.
bool ofi_device::send(packet& leaving, bool free) {
  peer& to = peer_of(leaving.rank);
  const bool left = hand_over(leaving.rank, &leaving.header(), free, [&] {
    return fi_send(own_->ep.ep(), leaving.bytes, leaving.size, own_->outgoing.descriptor(),
                   to.address, &leaving.context);
  });
  if (!left) return false;
  ++to.in_flight;
  to.unconfirmed = false;
  return true;
}

// Completes the header, including the credits owed to the rank, and calls `hand`.
template <class Hand>
bool ofi_device::hand_over(int rank, packet_header* header, bool free, Hand hand) {
  peer& to = peer_of(rank);
  const uint8_t paid = to.credit.pay();
  *header = {static_cast<uint32_t>(context_.rank()), to.token, paid,
             static_cast<uint8_t>(free ? 1 : 0)};
  const int64_t code = hand();
  if (__builtin_expect(code == 0, 1)) {
    to.left_at = looks_;
    return true;
  }
  to.credit.unpay(paid);
  if (code != -FI_EAGAIN) {
    suspect(rank, base::StrCat("a packet could not be sent to it: ", describe(code)));
  }
  return false;
}

void ofi_device::sent(packet& finished) {
  --peer_of(finished.rank).in_flight;
  free_packets_.push_back(&finished);
}

void ofi_device::receive(packet& arrived, size_t size) {
  arrived.rank = -1;
  arrived.costs = false;
  arrived.users.store(1, std::memory_order_relaxed);
  packet_header header = {};
  if (size >= sizeof(header)) std::memcpy(&header, arrived.bytes, sizeof(header));
  const auto source = static_cast<int>(header.source);
  if (size < sizeof(header) || size > packet_bytes_ || header.source >= peers_.size() ||
      is_self(source) || header.token != token_) {
    LCI_LOG(warn, "ofi: dropped a packet of ", size, " bytes that is not of this job");
    drop_user(arrived);
    return;
  }
  peer& from = peer_of(source);
  arrived.rank = source;
  if (from.state != peer_state::alive && from.state != peer_state::suspected) {
    drop_user(arrived);
    return;
  }
  arrived.costs = header.free == 0;
  if (!from.credit.earn(header.credits)) {
    suspect_corrupt(source, "it returned more credits than it had received");
    drop_user(arrived);
    return;
  }
  from.greeted = true;
  from.heard = emptied_;
  // The packet may have been waiting for credits.
  if (from.filling != nullptr) add_pending(source);
  arrived.size = static_cast<uint32_t>(size);
  arrived.position = sizeof(packet_header);
  arrived_.push_back(&arrived);
}

// The packet is recycled at the next poll, so that its messages are delivered first.
void ofi_device::drop_user(packet& used) {
  // The last user needs no atomic read-modify-write.
  if (used.users.load(std::memory_order_acquire) == 1 ||
      used.users.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    finished_.push_back(&used);
  }
}

void ofi_device::release(const completion& received) {
  if (received.is_small) return;
  auto& used = *reinterpret_cast<packet*>(static_cast<uintptr_t>(received.lease));
  if (used.users.load(std::memory_order_acquire) == 1 ||
      used.users.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    returned_.put(used);
  }
}

void ofi_device::take_returned() {
  for (size_t left = finished_.size(); left > 0; --left) {
    packet* const finished = finished_.front();
    finished_.pop_front();
    recycle(*finished);
  }
  if (returned_.empty()) return;
  for (packet* finished = returned_.take_all(); finished != nullptr;) {
    packet* const next = finished->next;
    recycle(*finished);
    finished = next;
  }
}

void ofi_device::recycle(packet& finished) {
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
  if (!costs) return;
  peer& from = peer_of(rank);
  from.credit.owe();
  if (from.credit.owes_many()) add_pending(rank);
}

// Returns 0 or libfabric's error.
int64_t ofi_device::repost(packet& finished) {
  const int64_t code = fi_recv(own_->ep.ep(), finished.bytes, packet_bytes_,
                               own_->incoming.descriptor(), FI_ADDR_UNSPEC, &finished.context);
  if (code == 0) finished.costs = false;
  return code;
}

// Out of line: each coalesced message only checks whether its rank is pending already.
[[gnu::noinline]] void ofi_device::push_pending(int rank) {
  peer_of(rank).is_pending = true;
  pending_.push_back(rank);
  wake_sleeper();
}

[[gnu::noinline]] void ofi_device::wake_sleeper() {
  if (sleeper_.is_armed()) sleeper_.wake();
}

void ofi_device::process_pending() {
  for (size_t i = 0; i < pending_.size();) {
    const int rank = pending_[i];
    peer& to = peer_of(rank);
    if (to.state == peer_state::alive) {
      if (!to.deferred.empty()) send_deferred(rank);
      if (to.filling != nullptr && flush(rank)) moved_ = true;
      // A packet for credits alone: there are no other bytes, or no credit to send them.
      if (to.credit.owes_many() && !is_self(rank) && send_free(rank, nullptr)) moved_ = true;
      if (to.filling != nullptr || !to.deferred.empty() || to.credit.owes_many()) {
        ++i;
        continue;
      }
    }
    to.is_pending = false;
    pending_[i] = pending_.back();
    pending_.pop_back();
  }
}

}  // namespace lci::net::ofi
