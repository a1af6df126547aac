#ifndef LCI_COLL_BUFFER_BYTES_H_
#define LCI_COLL_BUFFER_BYTES_H_

#include <cstddef>

#include "lci/coll/signature.h"

namespace lci::coll {

// Bytes of all buffers of the ranks of an operation together. `offered`: bytes that each rank, or
// the root alone, offers to the others. Of an allgatherv, `offered` is the most that a rank offers,
// and the result is an upper bound.
constexpr size_t buffer_bytes(operation_kind kind, size_t offered, int ranks) {
  const auto n = static_cast<size_t>(ranks);
  switch (kind) {
    case operation_kind::broadcast:
      return offered * n;
    case operation_kind::scatter:
      return offered * 2;
    case operation_kind::reduce:
    case operation_kind::reduce_scatter:
    case operation_kind::reduce_scatterv:
      return offered * (n + 1);
    case operation_kind::allgather:
    case operation_kind::allgatherv:
      return offered * n * (n + 1);
    default:
      return offered * n * 2;
  }
}

}  // namespace lci::coll

#endif  // LCI_COLL_BUFFER_BYTES_H_
