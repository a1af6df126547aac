// What travels between ranks: through the bootstrap, when contexts and devices are made, and as
// messages.
//
//   verb on the wire        is
//   send with immediate     a message of the runtime: `imm` is its op::imm, all 32 bits; the bytes
//                           are its header and buffer, with nothing added
//   write with immediate    a put_imm: `imm` is its op::imm, all 32 bits
//   send without immediate  a `control` of this page
//   datagram                a `hail` of this page
//
// Whose they are, and of which device, says the queue pair that they arrive at; so nothing of
// either has to travel. Immediates are in network order, as verbs want them; all else is in the
// order of the processor: a job is of one kind of machine (ranks compare `wire_version` at start,
// which tells).
#ifndef LCI_NET_IBV_WIRE_H_
#define LCI_NET_IBV_WIRE_H_

#include <endian.h>

#include <cstdint>
#include <string_view>

namespace lci::net::ibv {

constexpr uint64_t wire_version = 0x6c63696962760003;

inline uint32_t encode_immediate(uint32_t imm) { return htobe32(imm); }
inline uint32_t decode_immediate(uint32_t on_wire) { return be32toh(on_wire); }

// For packets' numbers and the key of hails: what is still on the way from an earlier job, or from
// before a queue pair was made new, must not be taken for ours.
uint32_t random_number();
constexpr uint32_t packet_numbers = 0xffffff;  // bits that they have

// Where a port is. Equal for ports that are one.
struct port_address {
  uint8_t gid[16];  // used if by_gid
  uint16_t lid;     // InfiniBand
  uint8_t link_layer;
  uint8_t by_gid;
  uint32_t mtu;  // ibv_mtu
};
static_assert(sizeof(port_address) == 24);

// Told when a context is made.
struct introduction {
  uint64_t version;
  port_address address;
};
static_assert(sizeof(introduction) == 32);

// One rank's queue pairs for another rank.
struct queue_pair_numbers {
  uint32_t messages;  // both ways
  uint32_t writes;    // the owner's puts and gets leave here
  uint32_t written;   // the other's arrive here
  uint32_t pulse;     // asks the other's device whether it is there
  uint32_t felt;      // answers the other's
};
static_assert(sizeof(queue_pair_numbers) == 20);
constexpr uint32_t largest_number = 0xffffff;  // that one of them can be

// Told when a device is made; with it, for each rank, its queue_pair_numbers; where queue pairs are
// made on first use, only for the neighbours in the circle (circle.h), the one before it first.
struct offer {
  uint64_t packet_bytes;
  uint32_t first_packet;      // number of the first packet that each of its queue pairs sends
  uint32_t concurrent_reads;  // that it serves, of one peer
  uint32_t hail_number;       // where it takes hails; 0 where all is connected at start
  uint32_t hail_key;
};
static_assert(sizeof(offer) == 24);

// A datagram between ranks that are not connected (meeting.cc), or of one (watching.cc).
enum class hail_kind : uint32_t {
  ask = 1,     // these are my queue pairs for you; I do not know whether yours are connected
  answer = 2,  // mine are
  ended = 3,   // `about`, who may be the sender, has ended its device
  seek = 4,    // `about` does not answer me: what do you know of it?
  alive = 5,   // the device of `about` answers me
  lost = 6,    // `about`, who may be the receiver, has failed
};

struct hail {
  uint64_t version;
  hail_kind kind;
  uint32_t rank;               // of the sender
  queue_pair_numbers numbers;  // of ask and answer
  uint32_t about;              // a rank; of ask and answer the receiver
};
static_assert(sizeof(hail) == 40);

// Whether it can have been sent to rank `us`, of so many, in this job.
bool makes_sense(const hail& got, int ranks, int us);

enum class control_kind : uint32_t {
  bye = 1,    // the sender has ended its device
  renew = 2,  // the queue pair that the sender writes through broke (a put or get of it was wrong):
              // make the other end new, to begin with packet number `first_packet`
  renewed = 3,  // done; it is as before
};

struct control {
  control_kind kind;
  uint32_t first_packet;
};
static_assert(sizeof(control) == 8);

// False if it makes no sense: bytes of a peer are never trusted.
bool read_control(const void* bytes, uint64_t size, control* read);

// The bytes of one of the above.
template <class T>
std::string_view as_bytes(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

}  // namespace lci::net::ibv

#endif  // LCI_NET_IBV_WIRE_H_
