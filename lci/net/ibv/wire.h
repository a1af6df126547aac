// The layouts that ranks exchange: through the bootstrap, when contexts and devices are made, and
// over the network.
//
//   verb on the wire        carries
//   send with immediate     a message of the runtime: `imm` is its op::imm, all 32 bits; the bytes
//                           are its header and buffer, with nothing added
//   write with immediate    a put_imm: `imm` is its op::imm, all 32 bits
//   send without immediate  a `control` of this page
//   datagram                a `connect_datagram` of this page
//
// The queue pair at which a message arrives identifies the sending rank and the device, so neither
// is sent. Immediates are in network order, as verbs requires. Everything else is in the byte order
// of the processor: all machines of a job have the same order, which the comparison of
// `wire_version` at start verifies.
#ifndef LCI_NET_IBV_WIRE_H_
#define LCI_NET_IBV_WIRE_H_

#include <endian.h>

#include <cstdint>
#include <string_view>

namespace lci::net::ibv {

constexpr uint64_t wire_version = 0x6c63696962760003;

inline uint32_t encode_immediate(uint32_t imm) { return htobe32(imm); }
inline uint32_t decode_immediate(uint32_t on_wire) { return be32toh(on_wire); }

// A random first packet sequence number (PSN) or datagram key: packets still in flight from an
// earlier job, or from before a queue pair was reset, must not be accepted.
uint32_t random_number();
constexpr uint32_t psn_mask = 0xffffff;  // the bits of a packet sequence number

// The address of a port. Equal addresses mean the same port.
struct port_address {
  uint8_t gid[16];  // valid if by_gid
  uint16_t lid;     // InfiniBand
  uint8_t link_layer;
  uint8_t by_gid;
  uint32_t mtu;  // ibv_mtu
};
static_assert(sizeof(port_address) == 24);

// Exchanged when a context is made.
struct introduction {
  uint64_t version;
  port_address address;
};
static_assert(sizeof(introduction) == 32);

// The queue pairs that one rank (the owner) has for another rank (the peer).
struct queue_pair_numbers {
  uint32_t message_qp;           // messages in both directions
  uint32_t rma_qp;               // issues the owner's puts and gets
  uint32_t rma_target_qp;        // target of the peer's puts and gets
  uint32_t heartbeat_qp;         // issues the owner's heartbeats
  uint32_t heartbeat_target_qp;  // answers the peer's heartbeats
};
static_assert(sizeof(queue_pair_numbers) == 20);
constexpr uint32_t largest_number = 0xffffff;  // of a queue pair

// Exchanged when a device is made, followed by the queue_pair_numbers for each rank. Where ranks
// connect on demand, only those for the two neighbors in the monitor ring follow, the preceding
// neighbor first.
struct offer {
  uint64_t packet_bytes;
  uint32_t first_psn;         // the first packet number that each queue pair of this rank sends
  uint32_t concurrent_reads;  // reads of one peer that this rank serves concurrently
  uint32_t datagram_qp;       // receives connect datagrams; 0 where all ranks connect at start
  uint32_t datagram_key;
};
static_assert(sizeof(offer) == 24);

// The purpose of a datagram: to connect two ranks (connections.h), or to report the state of
// a rank that the sender or receiver is not connected with (ring_monitor.h).
enum class connect_datagram_kind : uint32_t {
  request = 1,  // carries the sender's queue pairs; the receiver's may not be connected yet
  reply = 2,    // carries the sender's queue pairs, which are connected to the receiver's
  ended = 3,    // `about`, which may be the sender, has ended its device
  query = 4,    // `about` does not answer the sender; asks for the receiver's view of it
  alive = 5,    // the device of `about` answers the sender
  failed = 6,   // `about`, which may be the receiver, has failed
};

struct connect_datagram {
  uint64_t version;
  connect_datagram_kind kind;
  uint32_t rank;               // the sender
  queue_pair_numbers numbers;  // in a request or reply
  uint32_t about;              // a rank; in a request or reply the receiver
};
static_assert(sizeof(connect_datagram) == 40);

// Whether a rank of this job can have sent `got` to rank `self` of `ranks`.
bool is_valid(const connect_datagram& got, int ranks, int self);

enum class control_kind : uint32_t {
  bye = 1,        // the sender has ended its device
  recover = 2,    // a wrong put or get broke the sender's RMA queue pair: reset the target end, and
                  // expect packet number `first_psn` next
  recovered = 3,  // the target end is reset
};

struct control {
  control_kind kind;
  uint32_t first_psn;
};
static_assert(sizeof(control) == 8);

// Returns false if the bytes are malformed: bytes of a peer are never trusted.
bool read_control(const void* bytes, uint64_t size, control* read);

// The bytes of one of the structs above.
template <class T>
std::string_view as_bytes(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

}  // namespace lci::net::ibv

#endif  // LCI_NET_IBV_WIRE_H_
