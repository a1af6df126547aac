// The collective operations, as one rank carries them out in an arena. Arguments are those of
// lci/api/coll.hpp, checked; sizes are in bytes.
#ifndef LCI_COLL_OPERATIONS_H_
#define LCI_COLL_OPERATIONS_H_

#include <cstddef>

#include "lci/coll/cooperative_operation.h"
#include "lci/coll/operation.h"
#include "lci/coll/piped_operation.h"

namespace lci::coll {

// Operations that are not final can be carried out on the room of a staging (staging.h), too.

// Every rank publishes its arrival in its own line and reads the lines of all: one cache line
// travels between each two ranks, and none waits for a third to pass the news on.
class barrier final : public operation {
 public:
  explicit barrier(const ticket& own) : operation(own, 0) {}

 private:
  bool step() override;
};

// The root offers, and the other ranks copy. If the data are in the root's own memory, the root
// copies, too, and waits for the other ranks.
class broadcast : public cooperative_operation {
 public:
  broadcast(const ticket& own, void* buffer, size_t size, int root)
      : cooperative_operation(own, own.where->sizes().copied_in_area),
        buffer_(static_cast<char*>(buffer)),
        size_(size),
        root_(root) {
    if (may_use_pieces(size)) use_pieces(operation_kind::broadcast, size, divide(size).count);
  }

 protected:
  bool step() override;

 private:
  bool step_in_pieces();
  char* const buffer_;
  const size_t size_;
  const int root_;
};

struct reduction {
  const void* sendbuf;
  void* recvbuf;
  size_t size;  // bytes that a rank gets
  size_t item_size;
  reduce_op_t op;
};

// The root combines what all offer. If the data are in the ranks' own memory, all ranks combine
// pieces, and write their results to the root's memory.
class reduce final : public piped_operation {
 public:
  reduce(const ticket& own, const reduction& what, int root)
      : piped_operation(own, own.where->sizes().combined_in_area), what_(what), root_(root) {
    if (may_use_pieces(what.size, what.item_size)) {
      use_pieces(operation_kind::reduce, what.size, divide(what.size, what.item_size).count);
    }
  }

 private:
  bool step() override;
  bool step_in_pieces();
  bool step_in_memory();
  bool combine_shared_pieces();
  operands all_operands() const;
  const reduction what_;
  const int root_;
};

// Of few bytes: every rank combines what all offer. Of more: each rank combines its part, and all
// copy the parts of the others (Rabenseifner, "Optimization of collective reduction operations",
// 2004). In pieces: first those of the operands, each with a part for each rank, then those of the
// results.
class allreduce final : public piped_operation {
 public:
  allreduce(const ticket& own, const reduction& what)
      : piped_operation(own, own.where->sizes().combined_in_area), what_(what) {
    if (may_use_pieces(what.size, what.item_size, size() - 1)) {
      use_pieces(operation_kind::allreduce, what.size,
                 operand_pieces().count + result_pieces().count);
    }
  }

 private:
  // The pieces of the operands, and of the results, of the largest part.
  division operand_pieces() const { return divide(largest_part(), what_.item_size, size() - 1); }
  division result_pieces() const { return divide(largest_part(), what_.item_size); }
  size_t largest_part() const {
    const auto n = static_cast<size_t>(size());
    return (what_.size / what_.item_size + n - 1) / n * what_.item_size;
  }

  // Whether this rank combines all of the result, instead of a part.
  bool combines_all() const {
    const place of_data = place_of(what_.size);
    return of_data == place::in_line ||
           (of_data == place::in_area && what_.size < sizes().combined_in_parts);
  }

  bool step() override;
  bool step_in_pieces();
  void combine_part();
  void copy_parts();
  operands all_operands() const;
  piece part_of(int rank) const;

  const reduction what_;
};

// size: bytes of each rank's result.
class reduce_scatter final : public piped_operation {
 public:
  reduce_scatter(const ticket& own, const reduction& what)
      : piped_operation(own, own.where->sizes().combined_in_area), what_(what) {
    if (may_use_pieces(total(), what.item_size, size() - 1)) {
      use_pieces(operation_kind::reduce_scatter, total(), pieces().count);
    }
  }

 private:
  bool step() override;
  bool step_in_pieces();
  division pieces() const { return divide(what_.size, what_.item_size, size() - 1); }
  operands all_operands() const;
  size_t total() const { return what_.size * static_cast<size_t>(size()); }
  size_t begin() const { return what_.size * static_cast<size_t>(rank()); }
  const reduction what_;
};

// size: bytes of a block.
class allgather : public piped_operation {
 public:
  allgather(const ticket& own, const void* sendbuf, void* recvbuf, size_t size)
      : piped_operation(own, own.where->sizes().copied_in_area),
        sendbuf_(static_cast<const char*>(sendbuf)),
        recvbuf_(static_cast<char*>(recvbuf)),
        size_(size) {
    if (may_use_pieces(size)) use_pieces(operation_kind::allgather, size, divide(size).count);
  }

 protected:
  bool step() override;

 private:
  bool step_in_pieces();
  char* block_of(int rank) const { return recvbuf_ + size_ * static_cast<size_t>(rank); }
  void copy_own() const;
  const char* const sendbuf_;
  char* const recvbuf_;
  const size_t size_;
};

// size: bytes of a block.
class alltoall : public piped_operation {
 public:
  alltoall(const ticket& own, const void* sendbuf, void* recvbuf, size_t size)
      : piped_operation(own, own.where->sizes().copied_in_area),
        sendbuf_(static_cast<const char*>(sendbuf)),
        recvbuf_(static_cast<char*>(recvbuf)),
        size_(size) {
    if (may_use_pieces(total(), 1, this->size() - 1)) {
      use_pieces(operation_kind::alltoall, total(), pieces().count);
    }
  }

 protected:
  bool step() override;

 private:
  bool step_in_pieces();
  division pieces() const { return divide(size_, 1, size() - 1); }
  void copy_own() const;
  size_t total() const { return size_ * static_cast<size_t>(size()); }
  const char* const sendbuf_;
  char* const recvbuf_;
  const size_t size_;
};

}  // namespace lci::coll

#endif  // LCI_COLL_OPERATIONS_H_
