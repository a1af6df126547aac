// Collective operations: every rank of the runtime calls them, in the same order for each matching
// engine. Several may be under way at once: those of one matching engine in the order of the calls,
// those of different ones in any. A matching engine may serve sends and receives at the same time.
//
// Without `comp` they block, making progress on `device` meanwhile; not from inside a handler. With
// `comp` they return at once, `comp` is signalled (status: user_context none, error done or fatal)
// when this rank's part is over, and the buffers belong to the library until then; somebody makes
// progress. Any thread may call one; when several threads do, their order is the program's concern.
//
// Counts and sizes are the same on all ranks; sizes in bytes, 0 is legal. A rank that fails ends
// the collective on those that need it: a blocking one throws peer_failure_error, else `comp` gets
// `fatal`.
#ifndef LCI_API_COLL_HPP_
#define LCI_API_COLL_HPP_

#include "lci/api/option.hpp"
#include "lci/api/resource.hpp"
#include "lci/api/types.hpp"

#pragma GCC visibility push(default)

namespace lci {

// The options that all of them have.
template <class Op>
class coll_options : public option::runtime_option<Op>,
                     public option::device_option<Op>,
                     public option::endpoint_option<Op>,
                     public option::matching_engine_option<Op>,
                     public option::comp_option<Op> {};

// The option `algorithm`, whose type depends on the operation.
template <class Op, class Algorithm>
class algorithm_option : public argument::algorithm_argument<Op, Algorithm> {
 public:
  algorithm_option() : argument::algorithm_argument<Op, Algorithm>(Algorithm::none) {}
};

// Complete when all ranks have called it. comp_semantic: what the end says of messages that this
// rank sent before (memory: nothing).
class [[nodiscard]] barrier_x : public coll_options<barrier_x>,
                                public option::comp_semantic_option<barrier_x> {
 public:
  [[nodiscard]] barrier_x() = default;
  void operator()() const;
};
inline void barrier() { barrier_x()(); }

// `size` bytes of rank `root` come into the buffers of all.
class [[nodiscard]] broadcast_x : public coll_options<broadcast_x>,
                                  public algorithm_option<broadcast_x, broadcast_algorithm_t>,
                                  public option::ring_nsteps_option<broadcast_x>,
                                  public argument::buffer_argument<broadcast_x, void*>,
                                  public argument::size_argument<broadcast_x, size_t>,
                                  public argument::root_argument<broadcast_x, int> {
 public:
  [[nodiscard]] broadcast_x(void* buffer, size_t size, int root)
      : buffer_argument(buffer), size_argument(size), root_argument(root) {}
  void operator()() const;
};
inline void broadcast(void* buffer, size_t size, int root) { broadcast_x(buffer, size, root)(); }

// recvbuf of rank `root` becomes op over the sendbufs of rank 0, 1, 2, ..., item by item: `count`
// items of `item_size` bytes. recvbuf of the others is not used. sendbuf may be recvbuf.
class [[nodiscard]] reduce_x : public coll_options<reduce_x>,
                               public argument::sendbuf_argument<reduce_x, const void*>,
                               public argument::recvbuf_argument<reduce_x, void*>,
                               public argument::count_argument<reduce_x, size_t>,
                               public argument::item_size_argument<reduce_x, size_t>,
                               public argument::op_argument<reduce_x, reduce_op_t>,
                               public argument::root_argument<reduce_x, int> {
 public:
  [[nodiscard]] reduce_x(const void* sendbuf, void* recvbuf, size_t count, size_t item_size,
                         reduce_op_t combine, int root)
      : sendbuf_argument(sendbuf),
        recvbuf_argument(recvbuf),
        count_argument(count),
        item_size_argument(item_size),
        op_argument(combine),
        root_argument(root) {}
  void operator()() const;
};
inline void reduce(const void* sendbuf, void* recvbuf, size_t count, size_t item_size,
                   reduce_op_t op, int root) {
  reduce_x(sendbuf, recvbuf, count, item_size, op, root)();
}

// sendbuf has get_rank_n() * recvcount items; recvbuf of rank r becomes op over the ranks' items
// r * recvcount and following. The buffers do not overlap, except that recvbuf may be where its
// result would stand in sendbuf.
class [[nodiscard]] reduce_scatter_x
    : public coll_options<reduce_scatter_x>,
      public algorithm_option<reduce_scatter_x, reduce_scatter_algorithm_t>,
      public option::ring_nsteps_option<reduce_scatter_x>,
      public argument::sendbuf_argument<reduce_scatter_x, const void*>,
      public argument::recvbuf_argument<reduce_scatter_x, void*>,
      public argument::recvcount_argument<reduce_scatter_x, size_t>,
      public argument::item_size_argument<reduce_scatter_x, size_t>,
      public argument::op_argument<reduce_scatter_x, reduce_op_t> {
 public:
  [[nodiscard]] reduce_scatter_x(const void* sendbuf, void* recvbuf, size_t recvcount,
                                 size_t item_size, reduce_op_t combine)
      : sendbuf_argument(sendbuf),
        recvbuf_argument(recvbuf),
        recvcount_argument(recvcount),
        item_size_argument(item_size),
        op_argument(combine) {}
  void operator()() const;
};
inline void reduce_scatter(const void* sendbuf, void* recvbuf, size_t recvcount, size_t item_size,
                           reduce_op_t op) {
  reduce_scatter_x(sendbuf, recvbuf, recvcount, item_size, op)();
}

// recvbuf becomes op over the sendbufs of rank 0, 1, 2, ..., item by item, the same bytes on all
// ranks. `count` items of `item_size` bytes; sendbuf may be recvbuf.
class [[nodiscard]] allreduce_x : public coll_options<allreduce_x>,
                                  public algorithm_option<allreduce_x, allreduce_algorithm_t>,
                                  public option::ring_nsteps_option<allreduce_x>,
                                  public argument::sendbuf_argument<allreduce_x, const void*>,
                                  public argument::recvbuf_argument<allreduce_x, void*>,
                                  public argument::count_argument<allreduce_x, size_t>,
                                  public argument::item_size_argument<allreduce_x, size_t>,
                                  public argument::op_argument<allreduce_x, reduce_op_t> {
 public:
  [[nodiscard]] allreduce_x(const void* sendbuf, void* recvbuf, size_t count, size_t item_size,
                            reduce_op_t combine)
      : sendbuf_argument(sendbuf),
        recvbuf_argument(recvbuf),
        count_argument(count),
        item_size_argument(item_size),
        op_argument(combine) {}
  void operator()() const;
};
inline void allreduce(const void* sendbuf, void* recvbuf, size_t count, size_t item_size,
                      reduce_op_t op) {
  allreduce_x(sendbuf, recvbuf, count, item_size, op)();
}

// `size` bytes from each rank; recvbuf has room for get_rank_n() * size bytes, and rank r's stand
// at r * size. sendbuf may be recvbuf + get_rank_me() * size; otherwise they do not overlap.
class [[nodiscard]] allgather_x : public coll_options<allgather_x>,
                                  public argument::sendbuf_argument<allgather_x, const void*>,
                                  public argument::recvbuf_argument<allgather_x, void*>,
                                  public argument::size_argument<allgather_x, size_t> {
 public:
  [[nodiscard]] allgather_x(const void* sendbuf, void* recvbuf, size_t size)
      : sendbuf_argument(sendbuf), recvbuf_argument(recvbuf), size_argument(size) {}
  void operator()() const;
};
inline void allgather(const void* sendbuf, void* recvbuf, size_t size) {
  allgather_x(sendbuf, recvbuf, size)();
}

// Both buffers have get_rank_n() blocks of `size` bytes: block r of sendbuf goes to rank r, whose
// recvbuf has it as block get_rank_me(). They do not overlap.
class [[nodiscard]] alltoall_x : public coll_options<alltoall_x>,
                                 public option::comp_semantic_option<alltoall_x>,
                                 public argument::sendbuf_argument<alltoall_x, const void*>,
                                 public argument::recvbuf_argument<alltoall_x, void*>,
                                 public argument::size_argument<alltoall_x, size_t> {
 public:
  [[nodiscard]] alltoall_x(const void* sendbuf, void* recvbuf, size_t size)
      : sendbuf_argument(sendbuf), recvbuf_argument(recvbuf), size_argument(size) {}
  void operator()() const;
};
inline void alltoall(const void* sendbuf, void* recvbuf, size_t size) {
  alltoall_x(sendbuf, recvbuf, size)();
}

}  // namespace lci

#pragma GCC visibility pop

#endif  // LCI_API_COLL_HPP_
