/// @file
/// Collective operations.

/// @defgroup lci_collectives Collective operations
/// Every rank of the runtime calls a collective operation, in the same order for each matching
/// engine. Several may be in progress at a time: those of one matching engine in the order of the
/// calls, those of different matching engines in any order. A matching engine may serve sends and
/// receives at the same time.
///
/// Without the option `comp` the operation blocks, and makes progress on `device` meanwhile; it
/// must not be called inside a handler. With `comp` it returns at once, and `comp` is signaled when
/// the part of this rank is over, with a status whose error is `done` or `fatal` and whose
/// user_context is null. The buffers are owned by the library until then, and the program makes
/// progress. Any thread may call a collective operation; if several threads do, the program
/// determines their order.
///
/// Counts and sizes must be the same on all ranks; sizes are in bytes, and 0 is valid. A rank that
/// fails ends the operation on the ranks that need it.
///
/// Ranks that all share memory, on one host, carry out the operations of the default matching
/// engine there, unless the option `algorithm` asks for messages. They compare what they call: a
/// rank that calls another operation, or the same one with another root, size or item size, is an
/// error that names both calls, at the latest in the next operation that waits for that rank, or in
/// free_runtime. On other networks, ranks that call different operations wait for each other, and
/// the hang report names them; messages of another size than expected are an error.
///
/// **Errors.**
/// - std::invalid_argument: `root`, a null buffer with a size, `op`, `ring_nsteps` below 0, `comp`
///   is COMP_NULL_RETRY.
/// - std::logic_error: a blocking operation inside a handler.
/// - peer_failure_error, of a blocking operation: a rank has failed; std::runtime_error: another
///   failure, such as ranks with different sizes. With `comp`, its status is `fatal` instead.
#ifndef LCI_API_COLL_HPP_
#define LCI_API_COLL_HPP_

#include "lci/api/option.hpp"
#include "lci/api/resource.hpp"
#include "lci/api/types.hpp"

#pragma GCC visibility push(default)

namespace lci {

/// @addtogroup lci_collectives
/// @{

/// The options of every collective operation: `runtime`, `device` and `endpoint` (the default
/// device of the global runtime), `matching_engine` (one that only collective operations use), and
/// `comp` (none: the operation blocks).
template <class Op>
class coll_options : public option::runtime_option<Op>,
                     public option::device_option<Op>,
                     public option::endpoint_option<Op>,
                     public option::matching_engine_option<Op>,
                     public option::comp_option<Op> {};

/// The option `algorithm`, whose type depends on the operation. Default: `none`, the library
/// chooses.
template <class Op, class Algorithm>
class algorithm_option : public argument::algorithm_argument<Op, Algorithm> {
 public:
  /// Sets the algorithm to `none`.
  algorithm_option() : argument::algorithm_argument<Op, Algorithm>(Algorithm::none) {}
};

/// Completes when all ranks have called it. (Dissemination; Hensgen, Finkel and Manber, "Two
/// algorithms for barrier synchronization", 1988)
///
/// Options: `runtime`, `device`, `endpoint`, `matching_engine`, `comp`. The option `comp_semantic`
/// is accepted; with either value a barrier says nothing about messages that this rank sent before.
class [[nodiscard]] barrier_x : public coll_options<barrier_x>,
                                public option::comp_semantic_option<barrier_x> {
 public:
  /// Sets every option to its default.
  [[nodiscard]] barrier_x() = default;
  /// Starts the barrier, or waits for its end. See @ref lci_collectives for the errors.
  void operator()() const;
};
/// barrier_x with the default of every option.
/// @relates barrier_x
inline void barrier() { barrier_x()(); }

/// Copies `size` bytes of the buffer of rank `root` to the buffers of all ranks.
///
/// Required: `buffer`, `size`, `root`. Options: `runtime`, `device`, `endpoint`, `matching_engine`,
/// `comp`, `algorithm`, `ring_nsteps`.
class [[nodiscard]] broadcast_x : public coll_options<broadcast_x>,
                                  public algorithm_option<broadcast_x, broadcast_algorithm_t>,
                                  public option::ring_nsteps_option<broadcast_x>,
                                  public argument::buffer_argument<broadcast_x, void*>,
                                  public argument::size_argument<broadcast_x, size_t>,
                                  public argument::root_argument<broadcast_x, int> {
 public:
  /// Takes the required arguments.
  /// @param size bytes.
  /// @param root 0 to get_rank_n() - 1.
  [[nodiscard]] broadcast_x(void* buffer, size_t size, int root)
      : buffer_argument(buffer), size_argument(size), root_argument(root) {}
  /// Starts the broadcast, or waits for its end. See @ref lci_collectives for the errors.
  void operator()() const;
};
/// broadcast_x with the default of every option.
/// @relates broadcast_x
inline void broadcast(void* buffer, size_t size, int root) { broadcast_x(buffer, size, root)(); }

/// Combines the buffers of all ranks, item by item, at rank `root`: its `recvbuf` becomes `op` over
/// the `sendbuf` of rank 0, 1, 2 and so on. `recvbuf` of the other ranks is not used. `sendbuf` may
/// be `recvbuf`.
///
/// Required: `sendbuf`, `recvbuf`, `count`, `item_size`, `op`, `root`. Options: `runtime`,
/// `device`, `endpoint`, `matching_engine`, `comp`.
class [[nodiscard]] reduce_x : public coll_options<reduce_x>,
                               public argument::sendbuf_argument<reduce_x, const void*>,
                               public argument::recvbuf_argument<reduce_x, void*>,
                               public argument::count_argument<reduce_x, size_t>,
                               public argument::item_size_argument<reduce_x, size_t>,
                               public argument::op_argument<reduce_x, reduce_op_t>,
                               public argument::root_argument<reduce_x, int> {
 public:
  /// Takes the required arguments.
  /// @param count items.
  /// @param item_size bytes of an item.
  /// @param root 0 to get_rank_n() - 1.
  [[nodiscard]] reduce_x(const void* sendbuf, void* recvbuf, size_t count, size_t item_size,
                         reduce_op_t combine, int root)
      : sendbuf_argument(sendbuf),
        recvbuf_argument(recvbuf),
        count_argument(count),
        item_size_argument(item_size),
        op_argument(combine),
        root_argument(root) {}
  /// Starts the reduction, or waits for its end. See @ref lci_collectives for the errors.
  void operator()() const;
};
/// reduce_x with the default of every option.
/// @relates reduce_x
inline void reduce(const void* sendbuf, void* recvbuf, size_t count, size_t item_size,
                   reduce_op_t op, int root) {
  reduce_x(sendbuf, recvbuf, count, item_size, op, root)();
}

/// Combines the buffers of all ranks, item by item, and distributes the result: `recvbuf` of rank r
/// becomes `op` over the `recvcount` items of every rank from item r * `recvcount` on. `sendbuf`
/// has get_rank_n() * `recvcount` items. The buffers must not overlap, except that `recvbuf` may be
/// the place in `sendbuf` where its result would stand.
///
/// Required: `sendbuf`, `recvbuf`, `recvcount`, `item_size`, `op`. Options: `runtime`, `device`,
/// `endpoint`, `matching_engine`, `comp`, `algorithm`, `ring_nsteps`.
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
  /// Takes the required arguments.
  /// @param recvcount items of `recvbuf`.
  /// @param item_size bytes of an item.
  [[nodiscard]] reduce_scatter_x(const void* sendbuf, void* recvbuf, size_t recvcount,
                                 size_t item_size, reduce_op_t combine)
      : sendbuf_argument(sendbuf),
        recvbuf_argument(recvbuf),
        recvcount_argument(recvcount),
        item_size_argument(item_size),
        op_argument(combine) {}
  /// Starts the reduction, or waits for its end. See @ref lci_collectives for the errors.
  void operator()() const;
};
/// reduce_scatter_x with the default of every option.
/// @relates reduce_scatter_x
inline void reduce_scatter(const void* sendbuf, void* recvbuf, size_t recvcount, size_t item_size,
                           reduce_op_t op) {
  reduce_scatter_x(sendbuf, recvbuf, recvcount, item_size, op)();
}

/// Combines the buffers of all ranks, item by item, at every rank: `recvbuf` becomes `op` over the
/// `sendbuf` of rank 0, 1, 2 and so on, with the same bytes on all ranks. `sendbuf` may be
/// `recvbuf`.
///
/// Required: `sendbuf`, `recvbuf`, `count`, `item_size`, `op`. Options: `runtime`, `device`,
/// `endpoint`, `matching_engine`, `comp`, `algorithm`, `ring_nsteps`.
class [[nodiscard]] allreduce_x : public coll_options<allreduce_x>,
                                  public algorithm_option<allreduce_x, allreduce_algorithm_t>,
                                  public option::ring_nsteps_option<allreduce_x>,
                                  public argument::sendbuf_argument<allreduce_x, const void*>,
                                  public argument::recvbuf_argument<allreduce_x, void*>,
                                  public argument::count_argument<allreduce_x, size_t>,
                                  public argument::item_size_argument<allreduce_x, size_t>,
                                  public argument::op_argument<allreduce_x, reduce_op_t> {
 public:
  /// Takes the required arguments.
  /// @param count items.
  /// @param item_size bytes of an item.
  [[nodiscard]] allreduce_x(const void* sendbuf, void* recvbuf, size_t count, size_t item_size,
                            reduce_op_t combine)
      : sendbuf_argument(sendbuf),
        recvbuf_argument(recvbuf),
        count_argument(count),
        item_size_argument(item_size),
        op_argument(combine) {}
  /// Starts the reduction, or waits for its end. See @ref lci_collectives for the errors.
  void operator()() const;
};
/// allreduce_x with the default of every option.
/// @relates allreduce_x
inline void allreduce(const void* sendbuf, void* recvbuf, size_t count, size_t item_size,
                      reduce_op_t op) {
  allreduce_x(sendbuf, recvbuf, count, item_size, op)();
}

/// Copies `size` bytes of each rank to all ranks: `recvbuf` has room for get_rank_n() * `size`
/// bytes, and those of rank r stand at byte r * `size`. `sendbuf` may be `recvbuf` + get_rank_me()
/// * `size`; otherwise the buffers must not overlap.
///
/// Required: `sendbuf`, `recvbuf`, `size`. Options: `runtime`, `device`, `endpoint`,
/// `matching_engine`, `comp`.
class [[nodiscard]] allgather_x : public coll_options<allgather_x>,
                                  public argument::sendbuf_argument<allgather_x, const void*>,
                                  public argument::recvbuf_argument<allgather_x, void*>,
                                  public argument::size_argument<allgather_x, size_t> {
 public:
  /// Takes the required arguments.
  /// @param size bytes of each rank.
  [[nodiscard]] allgather_x(const void* sendbuf, void* recvbuf, size_t size)
      : sendbuf_argument(sendbuf), recvbuf_argument(recvbuf), size_argument(size) {}
  /// Starts the operation, or waits for its end. See @ref lci_collectives for the errors.
  void operator()() const;
};
/// allgather_x with the default of every option.
/// @relates allgather_x
inline void allgather(const void* sendbuf, void* recvbuf, size_t size) {
  allgather_x(sendbuf, recvbuf, size)();
}

/// Copies a block of each rank to each rank: both buffers have get_rank_n() blocks of `size` bytes,
/// and block r of `sendbuf` becomes block get_rank_me() of `recvbuf` of rank r. The buffers must
/// not overlap.
///
/// Required: `sendbuf`, `recvbuf`, `size`. Options: `runtime`, `device`, `endpoint`,
/// `matching_engine`, `comp`. The option `comp_semantic` is accepted and has no effect.
class [[nodiscard]] alltoall_x : public coll_options<alltoall_x>,
                                 public option::comp_semantic_option<alltoall_x>,
                                 public argument::sendbuf_argument<alltoall_x, const void*>,
                                 public argument::recvbuf_argument<alltoall_x, void*>,
                                 public argument::size_argument<alltoall_x, size_t> {
 public:
  /// Takes the required arguments.
  /// @param size bytes of a block.
  [[nodiscard]] alltoall_x(const void* sendbuf, void* recvbuf, size_t size)
      : sendbuf_argument(sendbuf), recvbuf_argument(recvbuf), size_argument(size) {}
  /// Starts the operation, or waits for its end. See @ref lci_collectives for the errors.
  void operator()() const;
};
/// alltoall_x with the default of every option.
/// @relates alltoall_x
inline void alltoall(const void* sendbuf, void* recvbuf, size_t size) {
  alltoall_x(sendbuf, recvbuf, size)();
}

/// @}

}  // namespace lci

#pragma GCC visibility pop

#endif  // LCI_API_COLL_HPP_
