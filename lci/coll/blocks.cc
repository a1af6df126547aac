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

bool allgatherv::step() {
  const block_layout::block& own = received_.of(rank());
  switch (stage_) {
    case 0:
      if (!offer_and_publish(sendbuf_, own.size)) return false;
      if (recvbuf_ + own.offset != sendbuf_) {
        base::copy_bytes(recvbuf_ + own.offset, sendbuf_, own.size);
      }
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

alltoallv::alltoallv(const ticket& own, const void* sendbuf, const block_layout& sent,
                     void* recvbuf, const block_layout& received)
    : operation(own, own.where->sizes().copied_in_area),
      sendbuf_(static_cast<const char*>(sendbuf)),
      sent_(sent),
      recvbuf_(static_cast<char*>(recvbuf)),
      received_(received) {
  size_t bytes = 0;
  for (const block_layout::block& each : sent_.blocks) bytes += each.size;
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
    if (!in_memory_) {
      described.place = at;
      if (to != rank()) base::copy_bytes(table + at, sendbuf_ + each.offset, each.size);
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
    std::memcpy(to, area + described.place, described.size);
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
