// Packets: how they are filled, leave, come and go back.
#include <rdma/fi_errno.h>

#include <cstring>

#include "lci/base/log.h"
#include "lci/base/strings.h"
#include "lci/net/ofi/device.h"
#include "lci/net/ofi/library.h"

namespace lci::net::ofi {

bool ofi_device::append(int rank, const outgoing_record& record, claim by) {
  peer& to = with(rank);
  const bool alone = to.open == nullptr && to.left_at != looks_ && !to.bursts && !is_us(rank);
  if (alone && inject_alone(rank, record)) return true;
  const size_t span = record.span();
  if (to.open != nullptr && !gather_.takes(to.open->size, span) && !flush(rank)) return false;
  if (to.open == nullptr) {
    to.open = take_packet(rank, by);
    if (to.open == nullptr) return false;
  }
  write_record(record, to.open->bytes + to.open->size);
  to.open->size += static_cast<uint32_t>(span);
  ++to.open->records;
  if ((alone || gather_.is_full(to.open->size)) && flush(rank)) return true;
  wait(rank);
  return true;
}

// With no bytes yet but the header's.
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

// Sends the packet that is being filled. False if it has to wait.
bool ofi_device::flush(int rank) {
  peer& to = with(rank);
  packet& leaving = *to.open;
  if (!to.with.any()) return false;
  if (is_us(rank)) {
    leaving.position = sizeof(packet_header);
    leaving.users.store(1, std::memory_order_relaxed);
    arrived_.push_back(&leaving);
    wake_sleeper();
  } else {
    if (!send(leaving, /*free=*/false)) return false;
  }
  to.with.spend();
  to.bursts = leaving.records > 1;
  to.open = nullptr;
  return true;
}

// A packet of its own that costs no credit (see credits.h for who may). False if it has to wait.
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

// Sends a message in a packet that is nobody's any more when libfabric has taken it: it tells of it
// no more. False, and nothing happened, if the message is too large for that, or has to wait.
bool ofi_device::inject_alone(int rank, const outgoing_record& record) {
  peer& to = with(rank);
  const size_t size = sizeof(packet_header) + record.span();
  if (size > inject_bytes_ || !to.with.any()) return false;
  alignas(packet_header) unsigned char bytes[most_injected_bytes];
  write_record(record, bytes + sizeof(packet_header));
  const bool left = hand_over(rank, reinterpret_cast<packet_header*>(bytes), /*free=*/false,
                              [&] { return fi_inject(own_->end.ep(), bytes, size, to.address); });
  if (!left) return false;
  to.unconfirmed = true;
  to.with.spend();
  return true;
}

// Makes libfabric tell when it has handed on what was injected, by a packet behind it. True if
// there is nothing to be told.
bool ofi_device::confirm(int rank) {
  peer& to = with(rank);
  if (!to.unconfirmed) return true;
  send_behind(rank);
  return false;
}

// A packet with a completion, with what has gathered or with nothing. It costs a credit.
void ofi_device::send_behind(int rank) {
  peer& to = with(rank);
  if (to.open == nullptr) to.open = take_packet(rank, claim::progress);
  if (to.open != nullptr && !flush(rank)) wait(rank);
}

// Hands a packet that is filled to the provider. False, and nothing happened, if it does not take
// it now. `free`: it costs no credit.
bool ofi_device::send(packet& leaving, bool free) {
  peer& to = with(leaving.rank);
  const bool left = hand_over(leaving.rank, &leaving.header(), free, [&] {
    return fi_send(own_->end.ep(), leaving.bytes, leaving.size, own_->outgoing.descriptor(),
                   to.address, &leaving.context);
  });
  if (!left) return false;
  ++to.in_flight;
  to.unconfirmed = false;
  return true;
}

// The packet goes with the credits that its rank is owed.
template <class Hand>
bool ofi_device::hand_over(int rank, packet_header* header, bool free, Hand hand) {
  peer& to = with(rank);
  const uint8_t paid = to.with.pay();
  *header = {static_cast<uint32_t>(context_.rank()), to.token, paid,
             static_cast<uint8_t>(free ? 1 : 0)};
  const int64_t bad = hand();
  if (__builtin_expect(bad == 0, 1)) {
    to.left_at = looks_;
    return true;
  }
  to.with.unpay(paid);
  if (bad != -FI_EAGAIN) {
    suspect(rank, base::StrCat("a packet could not be sent to it: ", describe(bad)));
  }
  return false;
}

void ofi_device::sent(packet& over) {
  --with(over.rank).in_flight;
  free_packets_.push_back(&over);
}

void ofi_device::receive(packet& here, size_t size) {
  here.rank = -1;
  here.costs = false;
  here.users.store(1, std::memory_order_relaxed);
  packet_header header = {};
  if (size >= sizeof(header)) std::memcpy(&header, here.bytes, sizeof(header));
  const auto source = static_cast<int>(header.source);
  if (size < sizeof(header) || size > packet_bytes_ || header.source >= peers_.size() ||
      is_us(source) || header.token != token_) {
    LCI_LOG(warn, "ofi: dropped a packet of ", size, " bytes that is not of this job");
    stop_using(here);
    return;
  }
  peer& from = with(source);
  here.rank = source;
  if (from.state != peer_state::alive && from.state != peer_state::suspected) {
    stop_using(here);
    return;
  }
  here.costs = header.free == 0;
  if (!from.with.earn(header.credits)) {
    suspect_corrupt(source, "it gave back more credits than it had got");
    stop_using(here);
    return;
  }
  from.greeted = true;
  from.heard = emptied_;
  // What waits for credits.
  if (from.open != nullptr) wait(source);
  here.size = static_cast<uint32_t>(size);
  here.position = sizeof(packet_header);
  arrived_.push_back(&here);
}

// Recycles it at the next poll: what came in it is in a hurry.
void ofi_device::stop_using(packet& used) {
  // Who is alone needs no atomic operation to know that.
  if (used.users.load(std::memory_order_acquire) == 1 ||
      used.users.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    over_.push_back(&used);
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
  for (size_t left = over_.size(); left > 0; --left) {
    packet* const over = over_.front();
    over_.pop_front();
    recycle(*over);
  }
  if (returned_.empty()) return;
  for (packet* over = returned_.take_all(); over != nullptr;) {
    packet* const next = over->next;
    recycle(*over);
    over = next;
  }
}

void ofi_device::recycle(packet& over) {
  if (over.what == operation::kind::packet) {  // to ourselves
    with(over.rank).with.refund();
    free_packets_.push_back(&over);
    return;
  }
  const bool costs = over.costs;
  const int rank = over.rank;
  if (repost(over) != 0) {
    over_.push_back(&over);
    return;
  }
  if (!costs) return;
  peer& from = with(rank);
  from.with.owe();
  if (from.with.owes_many()) wait(rank);
}

// 0, or libfabric's error.
int64_t ofi_device::repost(packet& over) {
  const int64_t bad = fi_recv(own_->end.ep(), over.bytes, packet_bytes_,
                              own_->incoming.descriptor(), FI_ADDR_UNSPEC, &over.context);
  if (bad == 0) over.costs = false;
  return bad;
}

// Out of line: each message that gathers only asks whether it is the first.
[[gnu::noinline]] void ofi_device::begin_to_wait(int rank) {
  with(rank).waiting = true;
  waiting_.push_back(rank);
  wake_sleeper();
}

[[gnu::noinline]] void ofi_device::wake_sleeper() {
  if (sleeper_.is_armed()) sleeper_.wake();
}

void ofi_device::work_off() {
  for (size_t i = 0; i < waiting_.size();) {
    const int rank = waiting_[i];
    peer& to = with(rank);
    if (to.state == peer_state::alive) {
      if (!to.owes.empty()) pay(rank);
      if (to.open != nullptr && flush(rank)) moved_ = true;
      // Not beside other bytes: those have no credit, or are none.
      if (to.with.owes_many() && !is_us(rank) && send_free(rank, nullptr)) moved_ = true;
      if (to.open != nullptr || !to.owes.empty() || to.with.owes_many()) {
        ++i;
        continue;
      }
    }
    to.waiting = false;
    waiting_[i] = waiting_.back();
    waiting_.pop_back();
  }
}

}  // namespace lci::net::ofi
