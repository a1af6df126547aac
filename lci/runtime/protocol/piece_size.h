// How a large put or get is divided: a pure function.
#ifndef LCI_RUNTIME_PROTOCOL_PIECE_SIZE_H_
#define LCI_RUNTIME_PROTOCOL_PIECE_SIZE_H_

#include <algorithm>
#include <cstddef>

namespace lci::rt {

// The bytes of each piece but the last one, which has the rest, when `size` bytes are divided into
// as few pieces of up to `most` bytes as possible. The pieces are equally large, up to a page: a
// large piece and a small one take longer than two halves (docs/performance/collectives.md).
constexpr size_t piece_size(size_t size, size_t most) {
  constexpr size_t page = 4096;
  if (size <= most) return size;
  const size_t pieces = (size - 1) / most + 1;
  const size_t share = (size - 1) / pieces + 1;
  return std::min(most, (share + page - 1) / page * page);
}

}  // namespace lci::rt

#endif  // LCI_RUNTIME_PROTOCOL_PIECE_SIZE_H_
