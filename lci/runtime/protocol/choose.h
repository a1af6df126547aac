// Chooses the protocol that carries a message: a pure function, so that a table can test it.
#ifndef LCI_RUNTIME_PROTOCOL_CHOOSE_H_
#define LCI_RUNTIME_PROTOCOL_CHOOSE_H_

#include <cstddef>

namespace lci::rt {

// SC'25 paper, section 5.3.
enum class protocol {
  inject,       // the network copies header and bytes as they leave
  buffer_copy,  // we copy them to a packet, which the network sends
  zero_copy,    // the network sends the program's packet, with the header written in front
  rendezvous,   // the receiver makes room first, then the bytes are put there
};

struct message_shape {
  size_t header_size;     // bytes of header that the message needs if it is eager
  size_t size;            // bytes of the message
  bool in_packet;         // the bytes are those of a packet of the program
  bool network_semantic;  // complete only when the network says so, which an injected send never
                          // does
};

struct message_limits {
  size_t max_inject;  // bytes of header and message that the network copies
  size_t max_send;    // that it sends
  size_t max_packet;  // bytes of a message that a packet holds, besides the header
};

constexpr bool fits(size_t header_size, size_t size, size_t limit) {
  return size <= limit && header_size <= limit - size;
}

constexpr protocol choose_protocol(const message_shape& shape, const message_limits& limits) {
  if (!shape.network_semantic && fits(shape.header_size, shape.size, limits.max_inject)) {
    return protocol::inject;
  }
  if (shape.size > limits.max_packet) return protocol::rendezvous;
  if (!fits(shape.header_size, shape.size, limits.max_send)) return protocol::rendezvous;
  return shape.in_packet ? protocol::zero_copy : protocol::buffer_copy;
}

}  // namespace lci::rt

#endif  // LCI_RUNTIME_PROTOCOL_CHOOSE_H_
