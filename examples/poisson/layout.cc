#include "examples/poisson/layout.h"

#include <cstring>

namespace poisson {
namespace {

// Called with the place of each piece.
template <class Move>
void for_each_piece(const layout& layout, Move move) {
  for (size_t group = 0; group < layout.count2; ++group) {
    size_t offset = layout.offset + group * layout.stride2;
    for (size_t piece = 0; piece < layout.count; ++piece, offset += layout.stride) move(offset);
  }
}

}  // namespace

void pack(const char* buffer, const layout& from, char* to) {
  for_each_piece(from, [&](size_t offset) {
    std::memcpy(to, buffer + offset, from.length);
    to += from.length;
  });
}

void unpack(const char* from, char* buffer, const layout& to) {
  for_each_piece(to, [&](size_t offset) {
    std::memcpy(buffer + offset, from, to.length);
    from += to.length;
  });
}

}  // namespace poisson
