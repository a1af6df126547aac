#ifndef LCI_NET_OFI_COALESCING_H_
#define LCI_NET_OFI_COALESCING_H_

#include <algorithm>
#include <cstddef>

#include "lci/net/ofi/wire.h"

namespace lci::net::ofi {

// Small messages to one rank coalesce in a packet: a call of the provider (over TCP, a system call)
// costs as much as a hundred of them.
//
//   A lone message leaves at once: nothing has been sent to that rank since the device last read
//   its completion queue, and the last packet was not a burst. Other messages coalesce until the
//   device is polled or the packet is full.
//
// The first message of a burst coalesces, too, if another burst came just before. Otherwise each
// burst would take two packets, which costs nearly half of the rate with 32 messages in each burst.
// So the last message of a thread may wait for a poll, alone or not, as device::drained says; in
// an exchange of single messages none waits.
//
// peer.h tracks the packets in flight, and wire.h has their layout. The messages of a packet are in
// order, so they arrive as they were posted.
//
// The capacity of a packet in bytes:
//   message_bytes  room for one message of the runtime, the least that every packet has
//   wanted         room for all that shall coalesce (ofi_gather_size), or for one message of
//                  ofi_eager_size
//   eager_limit    the largest message that the provider sends without asking the receiver first;
//                  0: all room costs memory (it is registered), so packets have message_bytes
//   receives       the receives that a device may post
//   needed         the receives that it posts with as many credits as are useful (credits.h)
// All receives together take as much memory as with packets for one message: jobs of few ranks have
// large packets, and large jobs have many.
constexpr size_t choose_packet_bytes(size_t message_bytes, size_t wanted, size_t eager_limit,
                                     size_t receives, size_t needed) {
  if (needed == 0) return message_bytes;
  const size_t room = receives * message_bytes / needed;
  return std::max(message_bytes, std::min({wanted, eager_limit, room}));
}

// The most bytes that coalesce in a packet of a device.
class coalescing_limit {
 public:
  // `attribute` is ofi_gather_size in bytes, limited to the size of a packet. With 0, or too little
  // for two messages, each message leaves by itself.
  explicit coalescing_limit(size_t attribute, size_t packet_bytes)
      : bytes_(attribute < packet_bytes ? attribute : packet_bytes) {}

  // Whether a packet with `filled` bytes has room for `more`.
  bool takes(size_t filled, size_t more) const { return filled + more <= bytes_; }
  // Whether there is no room for another small message.
  bool is_full(size_t filled) const { return !takes(filled, record_span(32)); }

 private:
  size_t bytes_;
};

}  // namespace lci::net::ofi

#endif  // LCI_NET_OFI_COALESCING_H_
