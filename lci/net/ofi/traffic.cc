// Packets: how they are filled, leave, come and go back.
#include <rdma/fi_errno.h>

#include <cstring>

#include "absl/strings/str_cat.h"
#include "lci/base/log.h"
#include "lci/net/ofi/device.h"
#include "lci/net/ofi/library.h"

namespace lci::net::ofi {

bool ofi_device::append(int rank, const outgoing_record& record, claim by) {
  peer& to = with(rank);
  const size_t span = record.span();
  if (to.open != nullptr && !gather_.takes(to.open->size, span) && !flush(rank)) return false;
  if (to.open == nullptr) {
    packet* fresh = take_packet(by);
    if (fresh == nullptr) return false;
    fresh->rank = rank;
    fresh->size = sizeof(packet_header);
    to.open = fresh;
    wait(rank);
  }
  write_record(record, to.open->bytes + to.open->size);
  to.open->size += static_cast<uint32_t>(span);
  if (gather_.is_full(to.open->size) || (to.in_flight == 0 && !is_us(rank))) flush(rank);
  return true;
}

packet* ofi_device::take_packet(claim by) {
  const size_t kept = by == claim::post ? config_.queues.sends_of_progress : 0;
  if (free_packets_.size() <= kept) return nullptr;
  packet* taken = free_packets_.back();
  free_packets_.pop_back();
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
  } else {
    if (!send(leaving, /*free=*/false)) return false;
  }
  to.with.spend();
  to.open = nullptr;
  return true;
}

// A packet of its own that costs no credit (see credits.h for who may). False if it has to wait.
bool ofi_device::send_free(int rank, const outgoing_record* record) {
  packet* leaving = take_packet(claim::progress);
  if (leaving == nullptr) return false;
  leaving->rank = rank;
  leaving->size = sizeof(packet_header);
  if (record != nullptr) {
    write_record(*record, leaving->bytes + leaving->size);
    leaving->size += static_cast<uint32_t>(record->span());
  }
  if (send(*leaving, /*free=*/true)) return true;
  free_packets_.push_back(leaving);
  return false;
}

// Hands a packet that is filled to the provider, with the credits that its rank is owed. False, and
// nothing happened, if it does not take it now. `free`: it costs no credit.
bool ofi_device::send(packet& leaving, bool free) {
  peer& to = with(leaving.rank);
  const uint8_t paid = to.with.pay();
  leaving.header() = {static_cast<uint32_t>(context_.rank()), to.token, paid,
                      static_cast<uint8_t>(free ? 1 : 0)};
  const int64_t bad = fi_send(own_->end.ep(), leaving.bytes, leaving.size,
                              own_->outgoing.descriptor(), to.address, &leaving.context);
  if (bad == 0) {
    ++to.in_flight;
    return true;
  }
  to.with.unpay(paid);
  if (bad != -FI_EAGAIN) {
    suspect(leaving.rank, absl::StrCat("a packet could not be sent to it: ", describe(bad)));
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

void ofi_device::stop_using(packet& used) {
  if (used.users.fetch_sub(1, std::memory_order_acq_rel) == 1) recycle(used);
}

void ofi_device::release(const completion& received) {
  auto& used = *reinterpret_cast<packet*>(static_cast<uintptr_t>(received.lease));
  if (used.users.fetch_sub(1, std::memory_order_acq_rel) == 1) returned_.put(used);
}

void ofi_device::take_returned() {
  if (__builtin_expect(!unposted_.empty(), 0)) {
    std::vector<packet*> again;
    again.swap(unposted_);
    for (packet* over : again) recycle(*over);
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
    unposted_.push_back(&over);
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

// The rank has something to send, or to do for another.
void ofi_device::wait(int rank) {
  peer& other = with(rank);
  if (other.waiting) return;
  other.waiting = true;
  waiting_.push_back(rank);
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
