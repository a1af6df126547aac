#ifndef LCI_NET_OFI_GATHER_H_
#define LCI_NET_OFI_GATHER_H_

#include <cstddef>
#include <cstdint>

#include "lci/net/ofi/wire.h"

namespace lci::net::ofi {

// How small messages to one rank gather in a packet, for a call of the provider (over TCP, a system
// call) costs as much as a hundred of them.
//
//   A lone message leaves at once: nothing is on the way to that rank.
//   Those after it gather, until the device is polled or the packet is full.
//   The first message of a burst gathers, too, if another burst left not long before: programs that
//   post many at a time, and wait for an answer in between, would pay for a packet with one message
//   each time. The first lone message after bursts may so wait for the next poll; no other does.
//
// What is on the way, and how a packet is laid out, others know (peer.h, wire.h). Bytes that a
// packet holds are in order, so what is gathered arrives as it was posted.

// Of a device.
class gather_limit {
 public:
  // The attribute ofi_gather_size: bytes of a packet. More than a packet has are those that it has;
  // 0, or too few for two messages: each leaves by itself.
  explicit gather_limit(size_t attribute, size_t packet_bytes)
      : bytes_(attribute < packet_bytes ? attribute : packet_bytes) {}

  // Of a packet with `filled` bytes: takes it `more`?
  bool takes(size_t filled, size_t more) const { return filled + more <= bytes_; }
  // There is no room for another small message.
  bool is_full(size_t filled) const { return !takes(filled, record_span(32)); }

 private:
  size_t bytes_;
};

// Of a rank. `poll` is the number of polls of the device so far. Thread safety: that of a plain
// value.
class gatherer {
 public:
  // A burst that left so many polls ago makes no more difference: what follows is not of its kind.
  // (A round trip takes some ten polls.)
  static constexpr uint32_t memory_in_polls = 256;

  // One more in the packet.
  void add() { ++count_; }
  // Nothing but its being full, or a poll, is to make it leave.
  bool keeps(bool any_on_the_way, uint32_t poll) const {
    return any_on_the_way || (burst_ && poll - left_at_ <= memory_in_polls);
  }
  // The packet leaves.
  void left(uint32_t poll) {
    burst_ = count_ > 1;
    left_at_ = poll;
    count_ = 0;
  }
  // It never will.
  void forget() { *this = gatherer(); }

 private:
  uint32_t count_ = 0;
  uint32_t left_at_ = 0;
  bool burst_ = false;
};

}  // namespace lci::net::ofi

#endif  // LCI_NET_OFI_GATHER_H_
