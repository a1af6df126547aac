#ifndef LCI_RUNTIME_PROTOCOL_CONTROL_H_
#define LCI_RUNTIME_PROTOCOL_CONTROL_H_

#include "lci/net/op.h"
#include "lci/runtime/core/wire.h"
#include "lci/runtime/protocol/operation.h"

namespace lci::rt {

inline match_header make_match_header(const address& to) {
  return {to.tag, to.remote_engine, static_cast<uint8_t>(to.policy),
          static_cast<uint8_t>(to.collective), 0};
}

// A policy that this version does not know matches nothing that anybody waits for.
inline matching_key key_of(const match_header& header, int sender) {
  return {header.tag, sender, static_cast<matching_policy_t>(header.policy),
          header.collective != 0};
}

// A message of nothing but a header, which must outlive the post.
template <class Header>
net::op control_op(int rank, message_kind kind, const Header& header) {
  static_assert(sizeof(Header) <= net::max_header_size, "no backend takes a larger header");
  net::op op;
  op.kind = net::op_kind::send;
  op.inject = true;
  op.rank = rank;
  op.imm = encode(kind);
  op.header = &header;
  op.header_size = sizeof(Header);
  return op;
}

}  // namespace lci::rt

#endif  // LCI_RUNTIME_PROTOCOL_CONTROL_H_
