// Allgatherv, alltoallv and reduce_scatterv, as one rank carries them out in an arena: blocks of
// different sizes.
// Arguments are those of lci/api/coll.hpp, checked; sizes are in bytes.
#ifndef LCI_COLL_BLOCKS_H_
#define LCI_COLL_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lci/coll/operation.h"
#include "lci/coll/operations.h"
#include "lci/coll/piped_operation.h"

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
// each of the others offers its block. All blocks go in pieces if the largest one does.
class allgatherv : public piped_operation {
 public:
  allgatherv(const ticket& own, const void* sendbuf, void* recvbuf, const block_layout& received);

 protected:
  bool step() override;

 private:
  bool step_in_pieces();
  void copy_own() const;
  bool is_in_memory(int rank) const {
    return place_of(received_.of(rank).size) == place::in_memory;
  }
  const char* const sendbuf_;
  char* const recvbuf_;
  const block_layout received_;
};

// Each rank offers all blocks, and gets the result of its own one. The sizes are equal on all
// ranks. `blocks`: of the send buffer; what.size is that of this rank's block.
class reduce_scatterv final : public piped_operation {
 public:
  reduce_scatterv(const ticket& own, const reduction& what, const block_layout& blocks);

 private:
  bool step() override;
  bool step_in_pieces();
  division pieces() const;
  const reduction what_;
  const block_layout blocks_;
  size_t total_ = 0;
};

// A rank knows the sizes of its own blocks alone. Each rank puts a table into its area that says
// for each rank how large its block is and where it stands: behind the table, if all blocks of the
// rank for others fit there, else in the rank's own memory.
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
