// Collective operations: every rank of the runtime calls them, in the same order. They block,
// making progress on `device` meanwhile; not from inside a handler. Any thread may call one; the
// order of the calls is the program's concern when several threads do.
#ifndef LCI_API_COLL_HPP_
#define LCI_API_COLL_HPP_

#include "lci/api/option.hpp"
#include "lci/api/resource.hpp"
#include "lci/api/types.hpp"

namespace lci {

// Combines `n` items of left and right into dst, in this order (the operator need not be
// commutative, but must be associative). right and dst may be the same.
using reduce_op_t = void (*)(const void* left, const void* right, void* dst, size_t n);

// Returns when all ranks have called it.
class barrier_x : public option::runtime_option<barrier_x>,
                  public option::device_option<barrier_x> {
 public:
  void operator()() const;
};
inline void barrier() { barrier_x()(); }

// `size` bytes from each rank; recvbuf has room for get_rank_n() * size bytes, and rank r's stand
// at r * size. sendbuf may be recvbuf + get_rank_me() * size; otherwise they do not overlap.
class allgather_x : public option::runtime_option<allgather_x>,
                    public option::device_option<allgather_x> {
 public:
  allgather_x(const void* sendbuf, void* recvbuf, size_t size)
      : sendbuf_(sendbuf), recvbuf_(recvbuf), size_(size) {}
  void operator()() const;

 private:
  const void* sendbuf_;
  void* recvbuf_;
  size_t size_;
};
inline void allgather(const void* sendbuf, void* recvbuf, size_t size) {
  allgather_x(sendbuf, recvbuf, size)();
}

// recvbuf becomes op over the sendbufs of rank 0, 1, 2, ..., item by item, the same bytes on all
// ranks. `count` items of `item_size` bytes; sendbuf may be recvbuf.
class allreduce_x : public option::runtime_option<allreduce_x>,
                    public option::device_option<allreduce_x> {
 public:
  allreduce_x(const void* sendbuf, void* recvbuf, size_t count, size_t item_size, reduce_op_t op)
      : sendbuf_(sendbuf), recvbuf_(recvbuf), count_(count), item_size_(item_size), op_(op) {}
  void operator()() const;

 private:
  const void* sendbuf_;
  void* recvbuf_;
  size_t count_;
  size_t item_size_;
  reduce_op_t op_;
};
inline void allreduce(const void* sendbuf, void* recvbuf, size_t count, size_t item_size,
                      reduce_op_t op) {
  allreduce_x(sendbuf, recvbuf, count, item_size, op)();
}

}  // namespace lci

#endif  // LCI_API_COLL_HPP_
