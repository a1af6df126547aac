#ifndef LCI_NET_OFI_GATHER_H_
#define LCI_NET_OFI_GATHER_H_

#include <algorithm>
#include <cstddef>

#include "lci/net/ofi/wire.h"

namespace lci::net::ofi {

// How small messages to one rank gather in a packet, for a call of the provider (over TCP, a system
// call) costs as much as a hundred of them.
//
//   A lone message leaves at once: nothing has left to that rank since the device last looked at
//   its completion queue, and what left before was no burst. Others gather, until the device is
//   polled or the packet is full.
//
// The first of a burst gathers, too, when another burst was just before: else each burst would take
// two packets, and with 32 messages in each that is nearly half of the rate. So the last message of
// a thread may wait for a poll, alone or not, as device::drained says; one that is answered by one
// never does.
//
// What is on the way, and how a packet is laid out, others know (peer.h, wire.h). A packet's
// messages are in order, so what is gathered arrives as it was posted.
//
// Bytes of packets. `for_one`: with room for one message, which each has; more is for gathering.
//   attribute    ofi_gather_size
//   at_once      what the provider sends without asking the receiver first; 0: it has a price for
//                each byte of room (registered memory), so there is no more than for_one
//   receives     that a device may post, `needed` of which it does with as many credits as are of
//                use (credits.h)
// The room of the receives is what it would be with packets for one message: few ranks have large
// packets, and many have many.
constexpr size_t choose_packet_bytes(size_t for_one, size_t attribute, size_t at_once,
                                     size_t receives, size_t needed) {
  if (needed == 0) return for_one;
  const size_t room = receives * for_one / needed;
  return std::max(for_one, std::min({attribute, at_once, room}));
}

// How much gathers at most, on a device.
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

}  // namespace lci::net::ofi

#endif  // LCI_NET_OFI_GATHER_H_
