#include "examples/poisson/layout.h"

#include <algorithm>
#include <cstring>

namespace poisson {
namespace {

// Where the pieces of a layout are, in their order.
class walk {
 public:
  explicit walk(const layout& layout) : layout_(layout) {}
  size_t offset() const {
    return layout_.offset + group_ * layout_.stride2 + piece_ * layout_.stride + in_piece_;
  }
  size_t room() const { return layout_.length - in_piece_; }
  void go(size_t bytes) {
    in_piece_ += bytes;
    if (in_piece_ < layout_.length) return;
    in_piece_ = 0;
    if (++piece_ < layout_.count) return;
    piece_ = 0;
    ++group_;
  }

 private:
  const layout layout_;
  size_t group_ = 0;
  size_t piece_ = 0;
  size_t in_piece_ = 0;
};

// Called with the place of each piece.
template <class Move>
void for_each_piece(const layout& layout, Move move) {
  for (size_t group = 0; group < layout.count2; ++group) {
    size_t offset = layout.offset + group * layout.stride2;
    for (size_t piece = 0; piece < layout.count; ++piece, offset += layout.stride) move(offset);
  }
}

}  // namespace

void copy(const char* from_buffer, const layout& from, char* to_buffer, const layout& to) {
  walk source(from);
  walk target(to);
  for (size_t left = from.size(); left > 0;) {
    const size_t bytes = std::min(source.room(), target.room());
    std::memcpy(to_buffer + target.offset(), from_buffer + source.offset(), bytes);
    source.go(bytes);
    target.go(bytes);
    left -= bytes;
  }
}

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
