#ifndef LCI_RUNTIME_PROTOCOL_ENVELOPE_H_
#define LCI_RUNTIME_PROTOCOL_ENVELOPE_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "lci/runtime/core/wire.h"
#include "lci/runtime/protocol/control.h"
#include "lci/runtime/protocol/operation.h"

namespace lci::rt {

// The data that an eager message carries besides its bytes.
struct envelope {
  net_imm_data_t imm;
  uint8_t header_size;  // 0 if all fits the immediate data
  uint64_t header[2];
};
static_assert(sizeof(am_header) == 16 && sizeof(tagged_header) == 16);

inline bool is_short_tagged(const address& to) {
  return to.rcomp == 0 && to.tag <= max_short_tag && to.remote_engine == default_engine &&
         !to.collective && to.policy == matching_policy_t::rank_tag;
}

inline envelope make_envelope(const imm_layout& layout, const address& to) {
  envelope made;
  made.header_size = 0;
  if (to.rcomp != 0) {
    if (layout.fits(to.tag, to.rcomp)) {
      made.imm = layout.encode(to.tag, to.rcomp);
    } else {
      const am_header header{to.tag, to.rcomp, 0};
      made.imm = encode(message_kind::am);
      made.header_size = sizeof(header);
      std::memcpy(made.header, &header, sizeof(header));
    }
  } else if (is_short_tagged(to)) {
    made.imm = encode_short_tagged(to.tag);
  } else {
    const tagged_header header = make_match_header(to);
    made.imm = encode(message_kind::tagged);
    made.header_size = sizeof(header);
    std::memcpy(made.header, &header, sizeof(header));
  }
  return made;
}

// To be posted while both live.
inline net::op inject_op(int rank, const envelope& with, void* buffer, size_t size) {
  net::op op;
  op.kind = net::op_kind::send;
  op.inject = true;
  op.header_size = with.header_size;
  op.rank = rank;
  op.imm = with.imm;
  op.header = with.header;
  op.buffer = buffer;
  op.size = size;
  return op;
}

}  // namespace lci::rt

#endif  // LCI_RUNTIME_PROTOCOL_ENVELOPE_H_
