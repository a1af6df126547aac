// A collective operation whose large data go through the pipes of an arena, in pieces.
#ifndef LCI_COLL_PIPED_OPERATION_H_
#define LCI_COLL_PIPED_OPERATION_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "lci/coll/operation.h"
#include "lci/coll/pipes.h"

namespace lci::coll {

// Whether items of this size can travel through pipes, where each piece has a part for each of so
// many ranks; 1: the whole piece is for all.
constexpr bool fits_pieces(size_t item_size, int parts = 1) {
  // A smaller part costs more for its bookkeeping than for its bytes.
  constexpr size_t least_part = 256;
  return parts > 0 && item_size <= pipes::piece_bytes &&
         std::max(item_size, least_part) * static_cast<size_t>(parts) <= pipes::piece_bytes;
}

class piped_operation : public operation {
 protected:
  using operation::operation;

  // How data of a size are cut into pieces. `parts`: as of fits_pieces().
  struct division {
    uint64_t count;  // pieces
    size_t bytes;    // in each but the last one; a multiple of the size of an item
  };
  static division divide(size_t size, size_t item_size = 1, int parts = 1) {
    const size_t bytes = pipes::piece_bytes / static_cast<size_t>(parts) / item_size * item_size;
    return {(size + bytes - 1) / bytes, bytes};
  }

  // For constructors: whether that many bytes, which a rank offers, may travel in pieces; then
  // use_pieces() must follow.
  bool may_use_pieces(size_t size, size_t item_size = 1, int parts = 1) const {
    return has_paths(size) && size <= sizes().in_pipe && fits_pieces(item_size, parts);
  }
  // A piece's bytes within the data of a size.
  struct piece {
    size_t begin;
    size_t bytes;
  };
  static piece piece_of(uint64_t number, size_t bytes_of_each, size_t size) {
    const size_t begin = std::min(static_cast<size_t>(number) * bytes_of_each, size);
    return {begin, std::min(bytes_of_each, size - begin)};
  }
  enum class part { writes, reads, both };

  // For step(), of data in pieces, after this rank has published its line: advances as far as
  // possible. Returns whether all pieces are complete for this rank.
  //   put(number, slot)  copies the piece of this rank into the slot; false: it can't yet
  //   get(number)        uses the piece of all writers, with slot_of()
  // `writer`: the only rank that writes; -1: all others do. Each piece is read after the one before
  // it, and written after the one before it. A rank that does both reads a piece after it has
  // written its own one with that number: the results may take the place of what it offers.
  template <class Put, class Get>
  bool exchange(part own, int writer, const Put& put, const Get& get) {
    return exchange_some(
        own, [writer](int from) { return writer < 0 || from == writer; }, put, get);
  }
  // As exchange(), where this rank reads the pieces of the ranks for which reads(rank) is true.
  template <class Reads, class Put, class Get>
  bool exchange_some(part own, const Reads& reads, const Put& put, const Get& get);
  // For put(): what this rank offers.
  struct block {
    const char* data;
    size_t size;
  };
  bool put_whole(uint64_t number, size_t bytes_of_each, char* slot, const block& from) {
    const piece each = piece_of(number, bytes_of_each, from.size);
    copy_in(slot, from.data + each.begin, each.bytes);
    return true;
  }
  // block_for(rank): for that other rank.
  template <class BlockFor>
  bool put_parts(uint64_t number, size_t bytes_of_each, char* slot, const BlockFor& block_for) {
    for (int distance = 1; distance < size(); ++distance) {
      const int to = neighbor(distance);
      put_whole(number, bytes_of_each, slot + part_for(to, rank()) * bytes_of_each, block_for(to));
    }
    return true;
  }
  // For get(): block_of(rank) is where the block of another rank will stand.
  template <class BlockOf>
  void get_blocks(uint64_t number, size_t bytes_of_each, size_t size_of_block,
                  const BlockOf& block_of) {
    const piece each = piece_of(number, bytes_of_each, size_of_block);
    for (int distance = 1; distance < size(); ++distance) {
      const int from = neighbor(distance);
      copy_result(block_of(from) + each.begin, slot_of(from, number), each.bytes);
    }
  }
  const char* slot_of(int rank, uint64_t number) const {
    return pipes().slot(rank, first_piece() + number);
  }
  // In divided pieces, the place of the part of rank `to` in the slot of rank `from`.
  size_t part_for(int to, int from) const {
    return static_cast<size_t>(to > from ? to - from - 1 : to - from - 1 + size());
  }
  uint64_t pieces_read() const { return read_; }

  // As combine(), of pieces: the bytes [offset, offset + bytes), which stand `in_slot` bytes behind
  // the start of the slots of the other ranks; `in_slot(rank)`.
  template <class InSlot>
  void combine_piece(const operands& what, uint64_t number, size_t offset, size_t bytes,
                     const InSlot& in_slot, char* result);
  // The same of pieces of `bytes` bytes that put_whole() has copied; `result` is that of all.
  void combine_whole(const operands& what, uint64_t number, size_t bytes, char* result) {
    const piece each = piece_of(number, bytes, what.total);
    const auto in_slot = [](int) { return size_t{0}; };
    combine_piece(what, number, each.begin, each.bytes, in_slot, result + each.begin);
  }

 private:
  uint64_t begun_ = 0;    // the operation, by number, to which the next two belong
  uint64_t written_ = 0;  // pieces
  uint64_t read_ = 0;
};

template <class Reads, class Put, class Get>
bool piped_operation::exchange_some(part own, const Reads& reads, const Put& put, const Get& get) {
  coll::pipes& all = pipes();
  const uint64_t first = first_piece();
  const uint64_t count = piece_count();
  if (begun_ != number()) {
    begun_ = number();
    written_ = own == part::reads ? count : 0;
    read_ = own == part::writes ? count : 0;
    // No rank waits for a rank that does not read.
    if (read_ == count) all.release(first + count);
  }
  const auto can_read = [&] {
    if (read_ >= written_) return false;
    return holds_for_others([&](int from) {
      if (!reads(from)) return true;
      if (read_ == 0 && !has_reached(from, offered)) return false;
      if (all.is_written(from, first + read_)) return true;
      awaits(from);
      return false;
    });
  };
  const auto can_write = [&] {
    const int holder = all.holder(first + written_);
    if (holder >= 0) awaits(holder);
    return holder < 0;
  };
  for (bool has_moved = true; has_moved;) {
    has_moved = false;
    if (written_ < count && can_write() && put(written_, all.own_slot(first + written_))) {
      all.publish(first + ++written_);
      has_moved = true;
    }
    if (read_ < count && can_read()) {
      get(read_);
      all.release(first + ++read_);
      has_moved = true;
    }
  }
  if (written_ < count || read_ < count) return false;
  all.end_turn(first + count);
  return true;
}

template <class InSlot>
void piped_operation::combine_piece(const operands& what, uint64_t number, size_t offset,
                                    size_t bytes, const InSlot& in_slot, char* result) {
  char* const detour = what.own_is_result || bypasses_caches() ? scratch_of_thread(bytes) : nullptr;
  combine_operands(what, bytes, result, detour, [&](int r) {
    return r == rank() ? what.own + offset : slot_of(r, number) + in_slot(r);
  });
}

}  // namespace lci::coll

#endif  // LCI_COLL_PIPED_OPERATION_H_
