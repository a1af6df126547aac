/// @file
/// Collective operations: all but the reductions, which are in reduce.hpp.
#ifndef LCI_API_COLL_HPP_
#define LCI_API_COLL_HPP_

#include <cstddef>

#include "lci/api/coll_options.hpp"  // IWYU pragma: export
#include "lci/api/option.hpp"
#include "lci/api/reduce.hpp"     // IWYU pragma: export
#include "lci/api/reduction.hpp"  // IWYU pragma: export
#include "lci/api/types.hpp"

#pragma GCC visibility push(default)

namespace lci {

/// @addtogroup lci_collectives
/// @{

/// Completes when all ranks have called it. (Dissemination; Hensgen, Finkel and Manber, "Two
/// algorithms for barrier synchronization", 1988)
///
/// Options: `runtime`, `device`, `endpoint`, `matching_engine`, `group`, `thread_team`, `thread`,
/// `comp`. The option `comp_semantic` is accepted; with either value a barrier says nothing about
/// messages that this rank sent before.
class [[nodiscard]] barrier_x : public coll_options<barrier_x>,
                                public thread_options<barrier_x>,
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
/// `group`, `thread_team`, `thread`, `comp`, `algorithm`, `ring_nsteps`; `layout`, not with
/// `thread_team`.
class [[nodiscard]] broadcast_x : public coll_options<broadcast_x>,
                                  public thread_options<broadcast_x>,
                                  public algorithm_option<broadcast_x, broadcast_algorithm_t>,
                                  public option::ring_nsteps_option<broadcast_x>,
                                  public option::layout_option<broadcast_x>,
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

/// Copies `size` bytes of each rank to rank `root`: its `recvbuf` has room for get_rank_n() *
/// `size` bytes, and those of rank r stand at byte r * `size`. `recvbuf` of the other ranks is not
/// used. At the root, `sendbuf` may be `recvbuf` + `root` * `size`; otherwise the buffers must not
/// overlap.
///
/// Required: `sendbuf`, `recvbuf`, `size`, `root`. Options: `runtime`, `device`, `endpoint`,
/// `matching_engine`, `group`, `comp`, `sendlayout`; at the root `recvlayouts`.
class [[nodiscard]] gather_x : public coll_options<gather_x>,
                               public option::sendlayout_option<gather_x>,
                               public option::recvlayouts_option<gather_x>,
                               public argument::sendbuf_argument<gather_x, const void*>,
                               public argument::recvbuf_argument<gather_x, void*>,
                               public argument::size_argument<gather_x, size_t>,
                               public argument::root_argument<gather_x, int> {
 public:
  /// Takes the required arguments.
  /// @param size bytes of each rank.
  /// @param root 0 to get_rank_n() - 1.
  [[nodiscard]] gather_x(const void* sendbuf, void* recvbuf, size_t size, int root)
      : sendbuf_argument(sendbuf),
        recvbuf_argument(recvbuf),
        size_argument(size),
        root_argument(root) {}
  /// Starts the operation, or waits for its end. See @ref lci_collectives for the errors.
  void operator()() const;
};
/// gather_x with the default of every option.
/// @relates gather_x
inline void gather(const void* sendbuf, void* recvbuf, size_t size, int root) {
  gather_x(sendbuf, recvbuf, size, root)();
}

/// Copies a block of rank `root` to each rank: its `sendbuf` has get_rank_n() blocks of `size`
/// bytes, and block r goes to `recvbuf` of rank r. `sendbuf` of the other ranks is not used. At the
/// root, `recvbuf` may be `sendbuf` + `root` * `size`; otherwise the buffers must not overlap.
///
/// Required: `sendbuf`, `recvbuf`, `size`, `root`. Options: `runtime`, `device`, `endpoint`,
/// `matching_engine`, `group`, `comp`, `recvlayout`; at the root `sendlayouts`.
class [[nodiscard]] scatter_x : public coll_options<scatter_x>,
                                public option::sendlayouts_option<scatter_x>,
                                public option::recvlayout_option<scatter_x>,
                                public argument::sendbuf_argument<scatter_x, const void*>,
                                public argument::recvbuf_argument<scatter_x, void*>,
                                public argument::size_argument<scatter_x, size_t>,
                                public argument::root_argument<scatter_x, int> {
 public:
  /// Takes the required arguments.
  /// @param size bytes of a block.
  /// @param root 0 to get_rank_n() - 1.
  [[nodiscard]] scatter_x(const void* sendbuf, void* recvbuf, size_t size, int root)
      : sendbuf_argument(sendbuf),
        recvbuf_argument(recvbuf),
        size_argument(size),
        root_argument(root) {}
  /// Starts the operation, or waits for its end. See @ref lci_collectives for the errors.
  void operator()() const;
};
/// scatter_x with the default of every option.
/// @relates scatter_x
inline void scatter(const void* sendbuf, void* recvbuf, size_t size, int root) {
  scatter_x(sendbuf, recvbuf, size, root)();
}

/// Copies `size` bytes of each rank to all ranks: `recvbuf` has room for get_rank_n() * `size`
/// bytes, and those of rank r stand at byte r * `size`. `sendbuf` may be `recvbuf` + get_rank_me()
/// * `size`; otherwise the buffers must not overlap.
///
/// Required: `sendbuf`, `recvbuf`, `size`. Options: `runtime`, `device`, `endpoint`,
/// `matching_engine`, `group`, `comp`, `sendlayout`, `recvlayouts`.
class [[nodiscard]] allgather_x : public coll_options<allgather_x>,
                                  public option::sendlayout_option<allgather_x>,
                                  public option::recvlayouts_option<allgather_x>,
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

/// As allgather_x, with blocks of different sizes: rank r contributes `recvsizes[r]` bytes, which
/// stand at byte `recvoffsets[r]` of each `recvbuf`. `sendbuf` may be the place of its block in
/// `recvbuf`; otherwise the buffers must not overlap.
///
/// Required: `sendbuf`, `recvbuf`, `recvsizes`. Options: `runtime`, `device`, `endpoint`,
/// `matching_engine`, `group`, `comp`, `recvoffsets` (one block behind the other) or `recvlayouts`,
/// `sendlayout`.
class [[nodiscard]] allgatherv_x
    : public coll_options<allgatherv_x>,
      public option::recvoffsets_option<allgatherv_x>,
      public option::sendlayout_option<allgatherv_x>,
      public option::recvlayouts_option<allgatherv_x>,
      public argument::sendbuf_argument<allgatherv_x, const void*>,
      public argument::recvbuf_argument<allgatherv_x, void*>,
      public argument::recvsizes_argument<allgatherv_x, const size_t*> {
 public:
  /// Takes the required arguments.
  /// @param recvsizes bytes of each rank, by rank; equal on all ranks.
  [[nodiscard]] allgatherv_x(const void* sendbuf, void* recvbuf, const size_t* recvsizes)
      : sendbuf_argument(sendbuf), recvbuf_argument(recvbuf), recvsizes_argument(recvsizes) {}
  /// Starts the operation, or waits for its end. See @ref lci_collectives for the errors.
  void operator()() const;
};
/// allgatherv_x with the default of every option.
/// @relates allgatherv_x
inline void allgatherv(const void* sendbuf, void* recvbuf, const size_t* recvsizes) {
  allgatherv_x(sendbuf, recvbuf, recvsizes)();
}

/// Copies a block of each rank to each rank: both buffers have get_rank_n() blocks of `size` bytes,
/// and block r of `sendbuf` becomes block get_rank_me() of `recvbuf` of rank r. The buffers must
/// not overlap.
///
/// Required: `sendbuf`, `recvbuf`, `size`. Options: `runtime`, `device`, `endpoint`,
/// `matching_engine`, `group`, `comp`, `sendlayouts`, `recvlayouts`. The option `comp_semantic` is
/// accepted and has no effect.
class [[nodiscard]] alltoall_x : public coll_options<alltoall_x>,
                                 public option::comp_semantic_option<alltoall_x>,
                                 public option::sendlayouts_option<alltoall_x>,
                                 public option::recvlayouts_option<alltoall_x>,
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

/// As alltoall_x, with blocks of different sizes: the `sendsizes[r]` bytes at byte `sendoffsets[r]`
/// of `sendbuf` go to rank r, and the `recvsizes[r]` bytes of rank r to byte `recvoffsets[r]` of
/// `recvbuf`. The block that rank s sends to rank r must be as large as the block that rank r
/// receives from rank s. The buffers must not overlap.
///
/// Required: `sendbuf`, `sendsizes`, `recvbuf`, `recvsizes`. Options: `runtime`, `device`,
/// `endpoint`, `matching_engine`, `group`, `comp`, `sendoffsets` and `recvoffsets` (one block
/// behind the other), or `sendlayouts` and `recvlayouts`.
class [[nodiscard]] alltoallv_x : public coll_options<alltoallv_x>,
                                  public option::sendoffsets_option<alltoallv_x>,
                                  public option::recvoffsets_option<alltoallv_x>,
                                  public option::sendlayouts_option<alltoallv_x>,
                                  public option::recvlayouts_option<alltoallv_x>,
                                  public argument::sendbuf_argument<alltoallv_x, const void*>,
                                  public argument::sendsizes_argument<alltoallv_x, const size_t*>,
                                  public argument::recvbuf_argument<alltoallv_x, void*>,
                                  public argument::recvsizes_argument<alltoallv_x, const size_t*> {
 public:
  /// Takes the required arguments.
  /// @param sendsizes bytes of the block for each rank, by rank.
  /// @param recvsizes bytes of the block from each rank, by rank.
  [[nodiscard]] alltoallv_x(const void* sendbuf, const size_t* sendsizes, void* recvbuf,
                            const size_t* recvsizes)
      : sendbuf_argument(sendbuf),
        sendsizes_argument(sendsizes),
        recvbuf_argument(recvbuf),
        recvsizes_argument(recvsizes) {}
  /// Starts the operation, or waits for its end. See @ref lci_collectives for the errors.
  void operator()() const;
};
/// alltoallv_x with the default of every option.
/// @relates alltoallv_x
inline void alltoallv(const void* sendbuf, const size_t* sendsizes, void* recvbuf,
                      const size_t* recvsizes) {
  alltoallv_x(sendbuf, sendsizes, recvbuf, recvsizes)();
}

/// @}

}  // namespace lci

#pragma GCC visibility pop

#endif  // LCI_API_COLL_HPP_
