#include "lci/coll/staging.h"

#include <algorithm>
#include <cstring>

#include "lci/base/copy.h"

namespace lci::coll {
namespace {

// copy(byte of the buffer, byte of the room) for each piece.
template <class Copy>
void for_pieces(const layout_t& layout, size_t in_room, const Copy& copy) {
  for (size_t group = 0; group < layout.count2; ++group) {
    size_t at = layout.offset + group * layout.stride2;
    for (size_t piece = 0; piece < layout.count; ++piece) {
      copy(at, in_room);
      at += layout.stride;
      in_room += layout.length;
    }
  }
}

// use(copy): what copies a piece. Of the sizes of common items, it is one load and one store.
template <class Use>
void with_length(size_t length, const Use& use) {
  switch (length) {
    case 4:
      return use([](void* to, const void* from) { std::memcpy(to, from, 4); });
    case 8:
      return use([](void* to, const void* from) { std::memcpy(to, from, 8); });
    case 16:
      return use([](void* to, const void* from) { std::memcpy(to, from, 16); });
    default:
      return use([length](void* to, const void* from) { base::copy_data(to, from, length); });
  }
}

size_t size_of(const std::vector<layout_t>& blocks) {
  size_t size = 0;
  for (const layout_t& each : blocks) size += each.size();
  return size;
}

// Whether a multiple of `distance` by a number from `first` to before `count` is within less than
// `length` of `from`.
bool comes_near(size_t from, size_t distance, size_t first, size_t count, size_t length) {
  const size_t nearest = distance == 0 ? first : std::min(from / distance, count - 1);
  for (size_t i = std::max(nearest, first); i <= nearest + 1 && i < count; ++i) {
    const size_t at = i * distance;
    if ((at > from ? at - from : from - at) < length) return true;
  }
  return false;
}

}  // namespace

bool is_contiguous(const layout_t& layout) {
  return layout.size() == 0 ||
         ((layout.count == 1 || layout.stride == layout.length) &&
          (layout.count2 == 1 || layout.stride2 == layout.count * layout.length));
}

// Two pieces that are i apart in a group, and j groups apart, begin |i * stride - j * stride2| or
// i * stride + j * stride2 bytes apart. The first is the smaller, and for each i the j for which it
// is the smallest is known.
bool has_overlap(const layout_t& layout) {
  if (layout.size() == 0) return false;
  const bool groups_are_fewer = layout.count2 < layout.count;
  const size_t few = groups_are_fewer ? layout.count2 : layout.count;
  const size_t many = groups_are_fewer ? layout.count : layout.count2;
  const size_t outer = groups_are_fewer ? layout.stride2 : layout.stride;
  const size_t inner = groups_are_fewer ? layout.stride : layout.stride2;
  for (size_t i = 0; i < few; ++i) {
    if (comes_near(i * outer, inner, i == 0 ? 1 : 0, many, layout.length)) return true;
  }
  return false;
}

bool is_representable(const layout_t& layout) {
  if (layout.length == 0 || layout.count == 0 || layout.count2 == 0) return true;
  size_t pieces = 0;
  size_t bytes = 0;
  size_t last = 0;
  size_t last2 = 0;
  size_t end = 0;
  return !__builtin_mul_overflow(layout.count, layout.count2, &pieces) &&
         !__builtin_mul_overflow(pieces, layout.length, &bytes) &&
         !__builtin_mul_overflow(layout.count - 1, layout.stride, &last) &&
         !__builtin_mul_overflow(layout.count2 - 1, layout.stride2, &last2) &&
         !__builtin_add_overflow(last, last2, &end) &&
         !__builtin_add_overflow(end, layout.offset, &end) &&
         !__builtin_add_overflow(end, layout.length, &end);
}

staging::side staging::make_side(std::vector<layout_t> blocks) {
  side made;
  made.blocks = std::move(blocks);
  made.room.reset(new char[std::max(size_of(made.blocks), size_t{1})]);
  return made;
}

const char* staging::stage_send(const void* buffer, std::vector<layout_t> blocks) {
  from_ = static_cast<const char*>(buffer);
  sent_ = make_side(std::move(blocks));
  return sent_.room.get();
}

char* staging::stage_receive(void* buffer, std::vector<layout_t> blocks) {
  to_ = static_cast<char*>(buffer);
  received_ = make_side(std::move(blocks));
  return received_.room.get();
}

void staging::pack() const {
  size_t in_room = 0;
  for (const layout_t& each : sent_.blocks) {
    if (each.size() == 0) continue;
    with_length(each.length, [&](const auto& copy) {
      for_pieces(each, in_room,
                 [&](size_t at, size_t to) { copy(sent_.room.get() + to, from_ + at); });
    });
    in_room += each.size();
  }
}

void staging::unpack() const {
  size_t in_room = 0;
  for (const layout_t& each : received_.blocks) {
    if (each.size() == 0) continue;
    with_length(each.length, [&](const auto& copy) {
      for_pieces(each, in_room,
                 [&](size_t at, size_t from) { copy(to_ + at, received_.room.get() + from); });
    });
    in_room += each.size();
  }
}

}  // namespace lci::coll
