// The layout of packets. Each packet is one message of the provider and consists of records.
//
//   packet      packet_header, then records, each at a multiple of 8 bytes
//   record      record_header, then `size` bytes, padded to a multiple of 8
//
//   kind        bytes of the record
//   send        a message of the runtime
//   put_done    none: the bytes of the put_imm with this `imm` are in place
//   put         request_header, then the bytes to write
//   pull        request_header: the target reads the bytes from the requester into its memory
//   get         request_header: the target replies with the bytes
//   push        request_header: the target writes the bytes to the requester's memory
//   reply       reply_header, followed by the bytes of a successful get
//   bye         none: the sender has ended its device
//
// All numbers are in the byte order of the processor: all machines of a job have the same order,
// which the comparison of `wire_version` at start verifies.
#ifndef LCI_NET_OFI_WIRE_H_
#define LCI_NET_OFI_WIRE_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "lci/base/copy.h"

namespace lci::net::ofi {

constexpr uint64_t wire_version = 0x6c63696f66690004;

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
  uint32_t source;  // rank of the sender
  uint16_t token;   // of the receiver's device; a packet with another is dropped
  uint8_t credits;  // returned to the receiver
  uint8_t free;     // 1: the packet cost no credit
};
static_assert(sizeof(packet_header) == 8);

struct record_header {
  uint32_t size_and_kind;  // bytes, below, and record_kind, in the upper 8 bits
  uint32_t imm;
};
static_assert(sizeof(record_header) == 8);

constexpr size_t max_record_bytes = (size_t{1} << 24) - 1;

// The header of a put or get request to the target.
struct request_header {
  uint32_t operation;  // the requester's number for it; a reply repeats it
  uint32_t notifies;   // 1: the target gets a completion of kind remote_put
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
// The space that a record of `bytes` bytes takes in a packet.
constexpr size_t record_span(size_t bytes) { return sizeof(record_header) + padded(bytes); }

// The bytes of the largest record that fits in a packet of `bytes` bytes, which holds at least one
// without bytes.
constexpr size_t largest_record(size_t bytes) {
  return (bytes - sizeof(packet_header) - sizeof(record_header)) / 8 * 8;
}

// A record to send; its bytes are in two pieces.
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
inline void write_record(const outgoing_record& record, unsigned char* to) {
  const size_t size = record.header_size + record.body_size;
  const record_header header{static_cast<uint32_t>(size) | static_cast<uint32_t>(record.kind) << 24,
                             record.imm};
  std::memcpy(to, &header, sizeof(header));
  to += sizeof(header);
  // The padding is zeroed, so that no other bytes of this process leave.
  if (size % 8 != 0) std::memset(to + padded(size) - 8, 0, 8);
  if (record.header_size > 0) std::memcpy(to, record.header, record.header_size);
  if (record.body_size > 0) {
    base::copy_bytes(to + record.header_size, record.body, record.body_size);
  }
}

struct incoming_record {
  record_kind kind;
  uint32_t imm;
  unsigned char* bytes;  // aligned to 8
  size_t size;
};

// Reads the record at bytes[*position] of a packet of `size` bytes and advances *position. Returns
// false if the record is malformed: bytes of a peer are never trusted.
inline bool read_record(unsigned char* bytes, size_t size, size_t* position,
                        incoming_record* record) {
  if (size - *position < sizeof(record_header)) return false;
  record_header header;
  std::memcpy(&header, bytes + *position, sizeof(header));
  const size_t length = header.size_and_kind & max_record_bytes;
  if (padded(length) > size - *position - sizeof(header)) return false;
  const uint32_t kind = header.size_and_kind >> 24;
  if (kind < static_cast<uint32_t>(record_kind::send) ||
      kind > static_cast<uint32_t>(record_kind::bye)) {
    return false;
  }
  *record = {static_cast<record_kind>(kind), header.imm, bytes + *position + sizeof(header),
             length};
  *position += record_span(length);
  return true;
}

}  // namespace lci::net::ofi

#endif  // LCI_NET_OFI_WIRE_H_
