#include "lci/coll/blocks.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "lci/base/copy.h"
#include "lci/base/strings.h"

namespace lci::coll {

block_layout equal_blocks(int ranks, size_t size) {
  block_layout made;
  for (size_t r = 0; r < static_cast<size_t>(ranks); ++r) made.blocks.push_back({r * size, size});
  return made;
}

namespace {

size_t largest_of(const block_layout& blocks) {
  size_t largest = 0;
  for (const block_layout::block& each : blocks.blocks) largest = std::max(largest, each.size);
  return largest;
}

}  // namespace

allgatherv::allgatherv(const ticket& own, const void* sendbuf, void* recvbuf,
                       const block_layout& received)
    : piped_operation(own, own.where->sizes().copied_in_area),
      sendbuf_(static_cast<const char*>(sendbuf)),
      recvbuf_(static_cast<char*>(recvbuf)),
      received_(received) {
  const size_t largest = largest_of(received);
  if (may_use_pieces(largest)) {
    use_pieces(operation_kind::allgatherv, largest, divide(largest).count);
  }
}

void allgatherv::copy_own() const {
  const block_layout::block& own = received_.of(rank());
  if (recvbuf_ + own.offset != sendbuf_) {
    copy_result(recvbuf_ + own.offset, sendbuf_, own.size);
  }
}

bool allgatherv::step_in_pieces() {
  const size_t largest = largest_of(received_);
  const size_t bytes = divide(largest).bytes;
  if (stage_ == 0) {
    if (!offer_and_publish(nullptr, largest)) return false;
    copy_own();
    stage_ = 1;
  }
  const auto put = [&](uint64_t number, char* slot) {
    return put_whole(number, bytes, slot, {sendbuf_, received_.of(rank()).size});
  };
  const auto get = [&](uint64_t number) {
    for (int distance = 1; distance < size(); ++distance) {
      const int from = neighbor(distance);
      const block_layout::block& remote = received_.of(from);
      const piece each = piece_of(number, bytes, remote.size);
      if (each.bytes == 0) continue;
      copy_result(recvbuf_ + remote.offset + each.begin, slot_of(from, number), each.bytes);
    }
  };
  return exchange(part::both, -1, put, get);
}

bool allgatherv::step() {
  if (is_in_pieces()) return step_in_pieces();
  const block_layout::block& own = received_.of(rank());
  switch (stage_) {
    case 0:
      if (!offer_and_publish(sendbuf_, own.size)) return false;
      copy_own();
      stage_ = 1;
      [[fallthrough]];
    case 1: {
      if (!have_all_reached(offered)) return false;
      bool any_in_memory = false;
      for (int distance = 1; distance < size(); ++distance) {
        const int from = neighbor(distance);
        const block_layout::block& remote = received_.of(from);
        any_in_memory = any_in_memory || is_in_memory(from);
        if (remote.size > 0) copy(from, remote.size, 0, remote.size, recvbuf_ + remote.offset);
      }
      if (any_in_memory) publish(read);
      if (!is_in_memory(rank())) return true;
      stage_ = 2;
      [[fallthrough]];
    }
    default:
      return have_all_reached(read);
  }
}

reduce_scatterv::reduce_scatterv(const ticket& own, const reduction& what,
                                 const block_layout& blocks)
    : piped_operation(own, own.where->sizes().combined_in_area), what_(what), blocks_(blocks) {
  for (const block_layout::block& each : blocks_.blocks) total_ += each.size;
  if (may_use_pieces(total_, what.item_size, size() - 1)) {
    use_pieces(operation_kind::reduce_scatterv, total_, pieces().count);
  }
}

piped_operation::division reduce_scatterv::pieces() const {
  return divide(largest_of(blocks_), what_.item_size, size() - 1);
}

bool reduce_scatterv::step_in_pieces() {
  const size_t bytes = pieces().bytes;
  const block_layout::block& mine = blocks_.of(rank());
  const char* const own = static_cast<const char*>(what_.sendbuf);
  char* const result = static_cast<char*>(what_.recvbuf);
  if (stage_ == 0) {
    if (!offer_and_publish(nullptr, total_)) return false;
    stage_ = 1;
  }
  const auto put = [&](uint64_t number, char* slot) {
    return put_parts(number, bytes, slot, [&](int to) {
      return block{own + blocks_.of(to).offset, blocks_.of(to).size};
    });
  };
  const auto get = [&](uint64_t number) {
    const piece each = piece_of(number, bytes, mine.size);
    if (each.bytes == 0) return;
    combine_piece(
        {total_, what_.item_size, what_.op, own, own + mine.offset == result, size()}, number,
        mine.offset + each.begin, each.bytes,
        [&](int from) { return part_for(rank(), from) * bytes; }, result + each.begin);
  };
  return exchange(part::both, -1, put, get);
}

bool reduce_scatterv::step() {
  if (is_in_pieces()) return step_in_pieces();
  const size_t begin = blocks_.of(rank()).offset;
  return offer_and_use(
      what_.sendbuf, total_, [] {},
      [&] {
        const char* const own = static_cast<const char*>(what_.sendbuf);
        combine({total_, what_.item_size, what_.op, own, own + begin == what_.recvbuf, size()},
                begin, what_.size, static_cast<char*>(what_.recvbuf));
      });
}

alltoallv::alltoallv(const ticket& own, const void* sendbuf, const block_layout& sent,
                     void* recvbuf, const block_layout& received)
    : operation(own, own.where->sizes().copied_in_area),
      sendbuf_(static_cast<const char*>(sendbuf)),
      sent_(sent),
      recvbuf_(static_cast<char*>(recvbuf)),
      received_(received) {
  size_t bytes = 0;
  for (const block_layout::block& each : sent_.blocks) bytes += each.size;
  bytes -= sent_.of(rank()).size;  // which no other rank reads
  // The table stands in front of the blocks.
  constexpr size_t most_behind_table = arena::area_bytes - most_ranks * sizeof(entry);
  in_memory_ = bytes > std::min(sizes().copied_in_area, most_behind_table);
}

void alltoallv::offer_blocks() {
  char* const table = own_area();
  size_t at = sizeof(entry) * static_cast<size_t>(size());
  for (int to = 0; to < size(); ++to) {
    const block_layout::block& each = sent_.of(to);
    entry described{reinterpret_cast<uintptr_t>(sendbuf_) + each.offset, each.size};
    if (!in_memory_ && to != rank()) {
      described.place = at;
      base::copy_bytes(table + at, sendbuf_ + each.offset, each.size);
      at += each.size;
    }
    std::memcpy(table + sizeof(entry) * static_cast<size_t>(to), &described, sizeof(described));
  }
}

void alltoallv::copy_block(int from) {
  entry described;
  const char* const area = area_of(from);
  std::memcpy(&described, area + sizeof(entry) * static_cast<size_t>(rank()), sizeof(described));
  const block_layout::block& expected = received_.of(from);
  if (described.size != expected.size) {
    throw std::runtime_error(base::StrCat("lci: alltoallv: rank ", name_of(from), " sends ",
                                          described.size, " bytes to rank ", name_of(rank()),
                                          ", which expects ", expected.size));
  }
  if (described.size == 0) return;
  char* const to = recvbuf_ + expected.offset;
  if (described.place < arena::area_bytes) {
    base::copy_data(to, area + described.place, described.size);
  } else {
    read_memory(from, described.place, described.size, to);
  }
}

bool alltoallv::step() {
  switch (stage_) {
    case 0: {
      if (!may_use_area()) return false;
      offer_blocks();
      publish(offered);
      const block_layout::block& own = sent_.of(rank());
      const block_layout::block& target = received_.of(rank());
      base::copy_bytes(recvbuf_ + target.offset, sendbuf_ + own.offset, own.size);
      stage_ = 1;
      [[fallthrough]];
    }
    case 1:
      if (!have_all_reached(offered)) return false;
      for (int distance = 1; distance < size(); ++distance) copy_block(neighbor(distance));
      // Another rank may wait for it, regardless of the offer of this rank.
      publish(read);
      if (!in_memory_) return true;
      stage_ = 2;
      [[fallthrough]];
    default:
      return have_all_reached(read);
  }
}

}  // namespace lci::coll
