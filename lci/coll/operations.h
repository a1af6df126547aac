// The collective operations, as one rank carries them out in an arena. Arguments are those of
// lci/api/coll.hpp, checked; sizes are in bytes.
#ifndef LCI_COLL_OPERATIONS_H_
#define LCI_COLL_OPERATIONS_H_

#include <cstddef>

#include "lci/coll/operation.h"

namespace lci::coll {

// The largest sizes that go through the area, by measurement: an operation that only copies is
// slower through the area from about 12 KiB on where the processors are far from each other (16
// KiB, allgather, 2 ranks: 13 us, from memory 5), and one that combines from about 40 KiB on.
constexpr size_t most_copied_in_area = size_t{8} << 10;
constexpr size_t most_combined_in_area = size_t{32} << 10;
static_assert(most_copied_in_area <= arena::area_bytes);
static_assert(most_combined_in_area <= arena::area_bytes);

// Operations that are not final can be carried out on the room of a staging (staging.h), too.

// Every rank publishes its arrival in its own line and reads the lines of all: one cache line
// travels between each two ranks, and none waits for a third to pass the news on.
class barrier final : public operation {
 public:
  explicit barrier(const ticket& own) : operation(own, 0) {}

 private:
  bool step() override;
};

// The root offers; the others copy. The root waits for them only if they read its own memory.
class broadcast : public operation {
 public:
  broadcast(const ticket& own, void* buffer, size_t size, int root)
      : operation(own, most_copied_in_area), buffer_(buffer), size_(size), root_(root) {}

 protected:
  bool step() override;

 private:
  bool step_as_root();
  void* const buffer_;
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

class reduce final : public operation {
 public:
  reduce(const ticket& own, const reduction& what, int root)
      : operation(own, most_combined_in_area), what_(what), root_(root) {}

 private:
  bool step() override;
  const reduction what_;
  const int root_;
};

// Of few bytes: every rank combines what all offer. Of more: each rank combines its part, and all
// copy the parts of the others (Rabenseifner, "Optimization of collective reduction operations",
// 2004).
class allreduce final : public operation {
 public:
  allreduce(const ticket& own, const reduction& what)
      : operation(own, most_combined_in_area), what_(what) {}

 private:
  // From this many bytes on, ranks combine parts.
  static constexpr size_t least_parts_bytes = 2048;

  bool step() override;
  void combine_part();
  void copy_parts();
  operands all_operands() const;
  struct part {
    size_t begin;  // bytes
    size_t bytes;
  };
  part part_of(int rank) const;

  const reduction what_;
};

// size: bytes of this rank's result, which is that of the bytes from `begin` on of the `total`
// bytes that each rank offers. For reduce_scatter and reduce_scatterv.
class reduce_scatter final : public operation {
 public:
  reduce_scatter(const ticket& own, const reduction& what, size_t begin, size_t total)
      : operation(own, most_combined_in_area), what_(what), begin_(begin), total_(total) {}

 private:
  bool step() override;
  const reduction what_;
  const size_t begin_;
  const size_t total_;
};

// size: bytes of a block.
class allgather : public operation {
 public:
  allgather(const ticket& own, const void* sendbuf, void* recvbuf, size_t size)
      : operation(own, most_copied_in_area),
        sendbuf_(sendbuf),
        recvbuf_(static_cast<char*>(recvbuf)),
        size_(size) {}

 protected:
  bool step() override;

 private:
  const void* const sendbuf_;
  char* const recvbuf_;
  const size_t size_;
};

// size: bytes of a block.
class alltoall : public operation {
 public:
  alltoall(const ticket& own, const void* sendbuf, void* recvbuf, size_t size)
      : operation(own, most_copied_in_area),
        sendbuf_(static_cast<const char*>(sendbuf)),
        recvbuf_(static_cast<char*>(recvbuf)),
        size_(size) {}

 protected:
  bool step() override;

 private:
  size_t total() const { return size_ * static_cast<size_t>(size()); }
  const char* const sendbuf_;
  char* const recvbuf_;
  const size_t size_;
};

}  // namespace lci::coll

#endif  // LCI_COLL_OPERATIONS_H_
