// Gather and scatter, as one rank carries them out in an arena. Arguments are those of
// lci/api/coll.hpp, checked; sizes are in bytes.
#ifndef LCI_COLL_ROOTED_H_
#define LCI_COLL_ROOTED_H_

#include <cstddef>

#include "lci/coll/cooperative_operation.h"
#include "lci/coll/operation.h"
#include "lci/coll/operations.h"
#include "lci/coll/piped_operation.h"

namespace lci::coll {

// Every rank offers its block, and the root copies all. If the blocks are in the ranks' own memory,
// these ranks copy, too, and wait for the root.
class gather : public cooperative_operation {
 public:
  gather(const ticket& own, const void* sendbuf, void* recvbuf, size_t size, int root)
      : cooperative_operation(own, own.where->sizes().copied_in_area),
        sendbuf_(static_cast<const char*>(sendbuf)),
        recvbuf_(static_cast<char*>(recvbuf)),
        size_(size),
        root_(root) {
    if (may_use_pieces(size)) use_pieces(operation_kind::gather, size, divide(size).count);
  }

 protected:
  bool step() override;

 private:
  bool step_in_pieces();
  void copy_own() const;
  char* block_of(int rank) const { return recvbuf_ + size_ * static_cast<size_t>(rank); }
  const char* const sendbuf_;
  char* const recvbuf_;
  const size_t size_;  // of a block
  const int root_;
};

// The root offers all blocks, and each rank copies its own. The root waits for the other ranks only
// if they read its own memory. It does not copy their blocks, since it has a block of its own.
class scatter : public piped_operation {
 public:
  scatter(const ticket& own, const void* sendbuf, void* recvbuf, size_t size, int root)
      : piped_operation(own, own.where->sizes().copied_in_area),
        sendbuf_(static_cast<const char*>(sendbuf)),
        recvbuf_(static_cast<char*>(recvbuf)),
        size_(size),
        root_(root) {
    if (may_use_pieces(total(), 1, this->size() - 1)) {
      use_pieces(operation_kind::scatter, total(), pieces().count);
    }
  }

 protected:
  bool step() override;

 private:
  bool step_as_root();
  bool step_in_pieces();
  division pieces() const { return divide(size_, 1, size() - 1); }
  void copy_own() const;
  size_t total() const { return size_ * static_cast<size_t>(size()); }
  const char* const sendbuf_;
  char* const recvbuf_;
  const size_t size_;  // of a block
  const int root_;
};

}  // namespace lci::coll

#endif  // LCI_COLL_ROOTED_H_
