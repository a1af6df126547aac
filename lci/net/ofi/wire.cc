#include "lci/net/ofi/wire.h"

#include <cstring>

namespace lci::net::ofi {

void write_record(const outgoing_record& record, unsigned char* to) {
  const size_t size = record.header_size + record.body_size;
  const record_header header{static_cast<uint32_t>(size) | static_cast<uint32_t>(record.kind) << 24,
                             record.imm};
  std::memcpy(to, &header, sizeof(header));
  to += sizeof(header);
  // What fills it up is not what was there before: no bytes of ours leave by accident.
  if (size % 8 != 0) std::memset(to + padded(size) - 8, 0, 8);
  if (record.header_size > 0) std::memcpy(to, record.header, record.header_size);
  if (record.body_size > 0) std::memcpy(to + record.header_size, record.body, record.body_size);
}

bool read_record(unsigned char* bytes, size_t size, size_t* position, incoming_record* record) {
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
