// What travels between ranks: packets, each a message of the provider, of records.
//
//   packet      packet_header, then records, each at a multiple of 8 bytes
//   record      record_header, then `size` bytes, filled up to a multiple of 8
//
//   kind        bytes of the record
//   send        a message of the runtime
//   put_done    none: the bytes of a put_imm are in place, and `imm` says which
//   put         request_header, then the bytes to write
//   pull        request_header: read the bytes where it says, and write them
//   get         request_header: reply with the bytes
//   push        request_header: write the bytes where it says
//   reply       reply_header, then for a get that succeeded the bytes
//   bye         none: the sender has ended its device
//
// All numbers are in the order of the processor: a job is of one kind of machine (ranks compare
// `wire_version` at start, which tells).
#ifndef LCI_NET_OFI_WIRE_H_
#define LCI_NET_OFI_WIRE_H_

#include <cstddef>
#include <cstdint>

namespace lci::net::ofi {

constexpr uint64_t wire_version = 0x6c63696f66690001;

enum class record_kind : uint8_t {
  send = 1,
  put_done = 2,
  put = 3,
  pull = 4,
  get = 5,
  push = 6,
  reply = 7,
  bye = 8,
};

struct packet_header {
  uint32_t source;  // rank
  uint16_t token;   // of the sender's device; what comes with another is not for us
  uint8_t credits;  // given back to the receiver
  uint8_t free;     // 1: it cost no credit
};
static_assert(sizeof(packet_header) == 8);

struct record_header {
  uint32_t size_and_kind;  // bytes, below, and record_kind, in the upper 8 bits
  uint32_t imm;
};
static_assert(sizeof(record_header) == 8);

constexpr size_t max_record_bytes = (size_t{1} << 24) - 1;

// Of a put or get that the target is asked for.
struct request_header {
  uint32_t operation;  // the requester's number for it; a reply repeats it
  uint32_t tells;      // 1: the target sees a remote_put
  uint64_t base;       // of the target's memory, as in remote_region
  uint64_t key;
  uint64_t offset;
  uint64_t size;
  uint64_t source_address;  // pull, push: the requester's memory, as its provider names it
  uint64_t source_key;
};
static_assert(sizeof(request_header) == 56);

struct reply_header {
  uint32_t operation;
  uint32_t ok;  // 1, or 0 if the memory was not open
};
static_assert(sizeof(reply_header) == 8);

constexpr size_t padded(size_t bytes) { return (bytes + 7) / 8 * 8; }
// What a record of so many bytes takes of a packet.
constexpr size_t record_span(size_t bytes) { return sizeof(record_header) + padded(bytes); }

// A record whose bytes are two pieces.
struct outgoing_record {
  record_kind kind = record_kind::send;
  uint32_t imm = 0;
  const void* header = nullptr;
  size_t header_size = 0;
  const void* body = nullptr;
  size_t body_size = 0;

  size_t span() const { return record_span(header_size + body_size); }
};

// Writes a record at `to`, where there is room for record.span() bytes.
void write_record(const outgoing_record& record, unsigned char* to);

struct incoming_record {
  record_kind kind;
  uint32_t imm;
  unsigned char* bytes;  // aligned to 8
  size_t size;
};

// Reads the record at bytes[*position] of a packet of `size` bytes, and moves on. False if it makes
// no sense: bytes of a peer are never trusted.
bool read_record(unsigned char* bytes, size_t size, size_t* position, incoming_record* record);

}  // namespace lci::net::ofi

#endif  // LCI_NET_OFI_WIRE_H_
