/// @file
/// Collective operations that combine the buffers of the ranks.
#ifndef LCI_API_REDUCE_HPP_
#define LCI_API_REDUCE_HPP_

#include <cstddef>

#include "lci/api/coll_options.hpp"
#include "lci/api/option.hpp"
#include "lci/api/types.hpp"

#pragma GCC visibility push(default)

namespace lci {

/// @addtogroup lci_collectives
/// @{

/// The options of every collective operation, and the arguments of every reduction, with the option
/// `deterministic` (false), which must be equal on all ranks. See @ref lci_collectives.
template <class Op>
class reduction_options : public coll_options<Op>,
                          public option::deterministic_option<Op>,
                          public argument::sendbuf_argument<Op, const void*>,
                          public argument::recvbuf_argument<Op, void*>,
                          public argument::item_size_argument<Op, size_t>,
                          public argument::op_argument<Op, reduce_op_t> {
 protected:
  /// Takes the arguments.
  reduction_options(const void* sendbuf, void* recvbuf, size_t item_size, reduce_op_t combine)
      : argument::sendbuf_argument<Op, const void*>(sendbuf),
        argument::recvbuf_argument<Op, void*>(recvbuf),
        argument::item_size_argument<Op, size_t>(item_size),
        argument::op_argument<Op, reduce_op_t>(combine) {}
};

/// Combines the buffers of all ranks, item by item, at rank `root`: its `recvbuf` becomes `op` over
/// the `sendbuf` of rank 0, 1, 2 and so on. `recvbuf` of the other ranks is not used. `sendbuf` may
/// be `recvbuf`.
///
/// Required: `sendbuf`, `recvbuf`, `count`, `item_size`, `op`, `root`. Options: `runtime`,
/// `device`, `endpoint`, `matching_engine`, `group`, `thread_team`, `thread`, `comp`.
class [[nodiscard]] reduce_x : public reduction_options<reduce_x>,
                               public thread_options<reduce_x>,
                               public argument::count_argument<reduce_x, size_t>,
                               public argument::root_argument<reduce_x, int> {
 public:
  /// Takes the required arguments.
  /// @param count items.
  /// @param item_size bytes of an item.
  /// @param root 0 to get_rank_n() - 1.
  [[nodiscard]] reduce_x(const void* sendbuf, void* recvbuf, size_t count, size_t item_size,
                         reduce_op_t combine, int root)
      : reduction_options(sendbuf, recvbuf, item_size, combine),
        count_argument(count),
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

/// Combines the buffers of all ranks, item by item, at every rank: `recvbuf` becomes `op` over the
/// `sendbuf` of rank 0, 1, 2 and so on, with the same bytes on all ranks. `sendbuf` may be
/// `recvbuf`.
///
/// Required: `sendbuf`, `recvbuf`, `count`, `item_size`, `op`. Options: `runtime`, `device`,
/// `endpoint`, `matching_engine`, `group`, `thread_team`, `thread`, `comp`, `algorithm`,
/// `ring_nsteps`.
class [[nodiscard]] allreduce_x : public reduction_options<allreduce_x>,
                                  public thread_options<allreduce_x>,
                                  public algorithm_option<allreduce_x, allreduce_algorithm_t>,
                                  public option::ring_nsteps_option<allreduce_x>,
                                  public argument::count_argument<allreduce_x, size_t> {
 public:
  /// Takes the required arguments.
  /// @param count items.
  /// @param item_size bytes of an item.
  [[nodiscard]] allreduce_x(const void* sendbuf, void* recvbuf, size_t count, size_t item_size,
                            reduce_op_t combine)
      : reduction_options(sendbuf, recvbuf, item_size, combine), count_argument(count) {}
  /// Starts the reduction, or waits for its end. See @ref lci_collectives for the errors.
  void operator()() const;
};
/// allreduce_x with the default of every option.
/// @relates allreduce_x
inline void allreduce(const void* sendbuf, void* recvbuf, size_t count, size_t item_size,
                      reduce_op_t op) {
  allreduce_x(sendbuf, recvbuf, count, item_size, op)();
}

/// Combines the buffers of all ranks, item by item, and distributes the result: `recvbuf` of rank r
/// becomes `op` over the `recvcount` items of every rank from item r * `recvcount` on. `sendbuf`
/// has get_rank_n() * `recvcount` items. The buffers must not overlap, except that `recvbuf` may be
/// the place in `sendbuf` where its result would stand.
///
/// Required: `sendbuf`, `recvbuf`, `recvcount`, `item_size`, `op`. Options: `runtime`, `device`,
/// `endpoint`, `matching_engine`, `group`, `comp`, `algorithm`, `ring_nsteps`.
class [[nodiscard]] reduce_scatter_x
    : public reduction_options<reduce_scatter_x>,
      public algorithm_option<reduce_scatter_x, reduce_scatter_algorithm_t>,
      public option::ring_nsteps_option<reduce_scatter_x>,
      public argument::recvcount_argument<reduce_scatter_x, size_t> {
 public:
  /// Takes the required arguments.
  /// @param recvcount items of `recvbuf`.
  /// @param item_size bytes of an item.
  [[nodiscard]] reduce_scatter_x(const void* sendbuf, void* recvbuf, size_t recvcount,
                                 size_t item_size, reduce_op_t combine)
      : reduction_options(sendbuf, recvbuf, item_size, combine), recvcount_argument(recvcount) {}
  /// Starts the reduction, or waits for its end. See @ref lci_collectives for the errors.
  void operator()() const;
};
/// reduce_scatter_x with the default of every option.
/// @relates reduce_scatter_x
inline void reduce_scatter(const void* sendbuf, void* recvbuf, size_t recvcount, size_t item_size,
                           reduce_op_t op) {
  reduce_scatter_x(sendbuf, recvbuf, recvcount, item_size, op)();
}

/// As reduce_scatter_x, with blocks of different sizes: `recvbuf` of rank r has `recvcounts[r]`
/// items, and `sendbuf` the items for rank 0, 1, 2 and so on, one block behind the other. The
/// buffers must not overlap, except that `recvbuf` may be the place in `sendbuf` where its result
/// would stand.
///
/// Required: `sendbuf`, `recvbuf`, `recvcounts`, `item_size`, `op`. Options: `runtime`, `device`,
/// `endpoint`, `matching_engine`, `group`, `comp`.
class [[nodiscard]] reduce_scatterv_x
    : public reduction_options<reduce_scatterv_x>,
      public argument::recvcounts_argument<reduce_scatterv_x, const size_t*> {
 public:
  /// Takes the required arguments.
  /// @param recvcounts items of the block of each rank, by rank; equal on all ranks.
  /// @param item_size bytes of an item.
  [[nodiscard]] reduce_scatterv_x(const void* sendbuf, void* recvbuf, const size_t* recvcounts,
                                  size_t item_size, reduce_op_t combine)
      : reduction_options(sendbuf, recvbuf, item_size, combine), recvcounts_argument(recvcounts) {}
  /// Starts the reduction, or waits for its end. See @ref lci_collectives for the errors.
  void operator()() const;
};
/// reduce_scatterv_x with the default of every option.
/// @relates reduce_scatterv_x
inline void reduce_scatterv(const void* sendbuf, void* recvbuf, const size_t* recvcounts,
                            size_t item_size, reduce_op_t op) {
  reduce_scatterv_x(sendbuf, recvbuf, recvcounts, item_size, op)();
}

/// Combines the buffers of the ranks up to this one, item by item: `recvbuf` becomes `op` over the
/// `sendbuf` of rank 0, 1, 2 and so on to that of this rank. `sendbuf` may be `recvbuf`.
/// (Hillis and Steele, "Data parallel algorithms", 1986)
///
/// Required: `sendbuf`, `recvbuf`, `count`, `item_size`, `op`. Options: `runtime`, `device`,
/// `endpoint`, `matching_engine`, `group`, `comp`.
class [[nodiscard]] scan_x : public reduction_options<scan_x>,
                             public argument::count_argument<scan_x, size_t> {
 public:
  /// Takes the required arguments.
  /// @param count items.
  /// @param item_size bytes of an item.
  [[nodiscard]] scan_x(const void* sendbuf, void* recvbuf, size_t count, size_t item_size,
                       reduce_op_t combine)
      : reduction_options(sendbuf, recvbuf, item_size, combine), count_argument(count) {}
  /// Starts the reduction, or waits for its end. See @ref lci_collectives for the errors.
  void operator()() const;
};
/// scan_x with the default of every option.
/// @relates scan_x
inline void scan(const void* sendbuf, void* recvbuf, size_t count, size_t item_size,
                 reduce_op_t op) {
  scan_x(sendbuf, recvbuf, count, item_size, op)();
}

/// Combines the buffers of the ranks before this one, item by item: `recvbuf` becomes `op` over the
/// `sendbuf` of rank 0, 1, 2 and so on to that of the rank before this one. `recvbuf` of rank 0
/// stays as it is. `sendbuf` may be `recvbuf`.
///
/// Required: `sendbuf`, `recvbuf`, `count`, `item_size`, `op`. Options: `runtime`, `device`,
/// `endpoint`, `matching_engine`, `group`, `comp`.
class [[nodiscard]] exscan_x : public reduction_options<exscan_x>,
                               public argument::count_argument<exscan_x, size_t> {
 public:
  /// Takes the required arguments.
  /// @param count items.
  /// @param item_size bytes of an item.
  [[nodiscard]] exscan_x(const void* sendbuf, void* recvbuf, size_t count, size_t item_size,
                         reduce_op_t combine)
      : reduction_options(sendbuf, recvbuf, item_size, combine), count_argument(count) {}
  /// Starts the reduction, or waits for its end. See @ref lci_collectives for the errors.
  void operator()() const;
};
/// exscan_x with the default of every option.
/// @relates exscan_x
inline void exscan(const void* sendbuf, void* recvbuf, size_t count, size_t item_size,
                   reduce_op_t op) {
  exscan_x(sendbuf, recvbuf, count, item_size, op)();
}

/// @}

}  // namespace lci

#pragma GCC visibility pop

#endif  // LCI_API_REDUCE_HPP_
