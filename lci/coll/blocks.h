// Allgatherv and alltoallv, as one rank carries them out in an arena: blocks of different sizes.
// Arguments are those of lci/api/coll.hpp, checked; sizes are in bytes.
#ifndef LCI_COLL_BLOCKS_H_
#define LCI_COLL_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lci/coll/operation.h"
#include "lci/coll/operations.h"

namespace lci::coll {

// A block of a buffer for each rank.
struct block_layout {
  struct block {
    size_t offset;  // bytes from the start of the buffer
    size_t size;    // bytes
  };
  std::vector<block> blocks;  // by rank

  const block& of(int rank) const { return blocks[static_cast<size_t>(rank)]; }
};

// Blocks of one size, one behind the other.
block_layout equal_blocks(int ranks, size_t size);

// The layout of the received blocks; their sizes are equal on all ranks. So each rank knows where
// each of the others offers its block.
class allgatherv : public operation {
 public:
  allgatherv(const ticket& own, const void* sendbuf, void* recvbuf, const block_layout& received)
      : operation(own, own.where->sizes().copied_in_area),
        sendbuf_(sendbuf),
        recvbuf_(static_cast<char*>(recvbuf)),
        received_(received) {}

 protected:
  bool step() override;

 private:
  bool is_in_memory(int rank) const {
    return place_of(received_.of(rank).size) == place::in_memory;
  }
  const void* const sendbuf_;
  char* const recvbuf_;
  const block_layout received_;
};

// A rank knows the sizes of its own blocks alone. Each rank puts a table into its area that says
// for each rank how large its block is and where it stands: behind the table, if all blocks of the
// rank fit there, else in the rank's own memory.
class alltoallv : public operation {
 public:
  // The number of ranks for which a table has room.
  static constexpr int most_ranks =
      static_cast<int>(arena::area_bytes / (2 * 2 * sizeof(uint64_t)));

  // The block of this rank for itself has one size in both layouts.
  alltoallv(const ticket& own, const void* sendbuf, const block_layout& sent, void* recvbuf,
            const block_layout& received);

 protected:
  bool step() override;

 private:
  struct entry {
    uint64_t place;  // bytes from the start of the area, or an address of the owner's process
    uint64_t size;   // bytes
  };

  void offer_blocks();
  void copy_block(int from);

  const char* const sendbuf_;
  const block_layout sent_;
  char* const recvbuf_;
  const block_layout received_;
  bool in_memory_;  // this rank's blocks
};

}  // namespace lci::coll

#endif  // LCI_COLL_BLOCKS_H_
