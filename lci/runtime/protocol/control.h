#ifndef LCI_RUNTIME_PROTOCOL_CONTROL_H_
#define LCI_RUNTIME_PROTOCOL_CONTROL_H_

#include "lci/net/op.h"
#include "lci/runtime/wire.h"

namespace lci::rt {

// A message that leaves by copy: `header`, which must outlive the post, and then `size` bytes.
template <class Header>
net::op control_op(int rank, message_kind kind, const Header& header, void* buffer = nullptr,
                   size_t size = 0) {
  static_assert(sizeof(Header) <= net::max_header_size, "no backend takes a larger header");
  net::op op;
  op.kind = net::op_kind::send;
  op.inject = true;
  op.rank = rank;
  op.imm = encode(kind);
  op.header = &header;
  op.header_size = sizeof(Header);
  op.buffer = buffer;
  op.size = size;
  return op;
}

}  // namespace lci::rt

#endif  // LCI_RUNTIME_PROTOCOL_CONTROL_H_
