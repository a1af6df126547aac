/// @file
/// Persistent collectives: collective operations that are recorded once and started many times.

/// @defgroup lci_persistent_collectives Persistent collectives
/// A persistent collective is a collective operation with all of its arguments, recorded by
/// alloc_persistent_coll and carried out by each persistent_coll_start (MPI 4.1, section 6.13,
/// "Persistent Collective Operations"). Work that depends on the arguments alone is done once: they
/// are checked, and the operation is divided into its steps. A start neither allocates memory nor
/// builds anything.
/// @code
/// lci::persistent_coll_t sum = lci::alloc_persistent_coll(
///     lci::allreduce_x(values, sums, n, sizeof(double), lci::reduce_sum<double>).comp(over));
/// for (int step = 0; step < steps; ++step) {
///   compute(values);
///   lci::persistent_coll_start(sum);
///   compute_something_else();
///   lci::sync_wait(over, nullptr);
/// }
/// lci::free_persistent_coll(&sum);
/// @endcode
///
/// A start is a call of the operation, and counts as one in the order of calls that
/// @ref lci_collectives requires: all ranks start the operation, or call it without recording it,
/// in the same order. Recording is local and is no such call: ranks may record in any order. The
/// next start of a persistent collective begins after the end of the last one; several persistent
/// collectives may be in progress at a time.
#ifndef LCI_API_PERSISTENT_COLL_HPP_
#define LCI_API_PERSISTENT_COLL_HPP_

#include <utility>
#include <variant>

#include "lci/api/coll.hpp"
#include "lci/api/option.hpp"
#include "lci/api/resource.hpp"
#include "lci/api/types.hpp"

#pragma GCC visibility push(default)

namespace lci {

/// @addtogroup lci_persistent_collectives
/// @{

/// A collective operation with its arguments and options: any object `f_x` of @ref lci_collectives
/// converts to it.
using collective_t = std::variant<barrier_x, broadcast_x, reduce_x, allreduce_x, reduce_scatter_x,
                                  reduce_scatterv_x, scan_x, exscan_x, gather_x, scatter_x,
                                  allgather_x, allgatherv_x, alltoall_x, alltoallv_x>;

/// Records a collective operation. Local. The buffers stay those of the program, which may write to
/// them between starts; arrays of sizes, counts and offsets are the program's again when the call
/// returns. With the option `comp` in `collective`, each start returns at once, and `comp` is
/// signaled at its end; without it, each start blocks.
///
/// Required: `collective`. Options: `name`, `user_context`. The options of `collective` determine
/// the runtime.
class [[nodiscard]] alloc_persistent_coll_x
    : public option::persistent_coll_attr_options<alloc_persistent_coll_x>,
      public argument::collective_argument<alloc_persistent_coll_x, collective_t> {
 public:
  /// Takes the required arguments.
  /// @param operation an object such as `allreduce_x(...).group(group).comp(comp)`.
  [[nodiscard]] explicit alloc_persistent_coll_x(collective_t operation)
      : collective_argument(std::move(operation)) {}
  /// Records the operation.
  /// @return the persistent collective. The program frees it by free_persistent_coll, before it
  ///   frees the group, the device, the matching engine and the completion object.
  /// @throws std::invalid_argument for arguments that a call of the operation refuses, or if `comp`
  ///   has been freed.
  persistent_coll_t operator()() const;
};
/// alloc_persistent_coll_x with the default of every option.
/// @relates alloc_persistent_coll_x
inline persistent_coll_t alloc_persistent_coll(collective_t collective) {
  return alloc_persistent_coll_x(std::move(collective))();
}

/// Carries out a persistent collective: blocks until the part of this rank is over, or, if it was
/// recorded with a `comp`, starts it. Then `comp` is signaled when the part of this rank is over,
/// with a status whose error is `done` or `fatal` and whose user_context is that of the persistent
/// collective; the buffers are owned by the library until then. Any thread may start it, also
/// inside a handler if it was recorded with a `comp`, also inside the signal that reports the end
/// of its last start.
///
/// The first starts make what later ones use again; these allocate nothing, except where messages
/// that nobody expects yet are more numerous than ever before, and except for an entry per message
/// where a message between hosts is too large for a packet and its buffer is not registered
/// (register_memory). With `LCI_CHECK=1`, starts allocate memory.
///
/// Required: `persistent_coll`. Options: `runtime`.
class [[nodiscard]] persistent_coll_start_x
    : public option::runtime_option<persistent_coll_start_x>,
      public argument::persistent_coll_argument<persistent_coll_start_x, persistent_coll_t> {
 public:
  /// Takes the required arguments.
  [[nodiscard]] explicit persistent_coll_start_x(persistent_coll_t persistent)
      : persistent_coll_argument(persistent) {}
  /// Starts the operation, or waits for its end.
  /// @throws std::logic_error if it is in progress, or if it was recorded without a `comp` and the
  ///   call is made inside a handler. Nothing happened then.
  /// @throws std::invalid_argument if the handle is empty or freed, or if the device, the matching
  ///   engine, the group or the completion object has been freed. Nothing happened then.
  /// @throws peer_failure_error, if it was recorded without a `comp`: a rank has failed;
  ///   std::runtime_error: another failure, such as ranks that call other operations. With `comp`,
  ///   its status is `fatal` instead.
  void operator()() const;
};
/// persistent_coll_start_x with the default of every option.
/// @relates persistent_coll_start_x
inline void persistent_coll_start(persistent_coll_t persistent_coll) {
  persistent_coll_start_x{persistent_coll}();
}

/// Frees a persistent collective that is not in progress, and empties the handle. Local. A start
/// that blocked and ended with an exception is not in progress, but its buffers may be written to
/// until the runtime is freed.
///
/// Required: `persistent_coll`. Options: `runtime`.
class [[nodiscard]] free_persistent_coll_x
    : public option::runtime_option<free_persistent_coll_x>,
      public argument::persistent_coll_argument<free_persistent_coll_x, persistent_coll_t*> {
 public:
  /// Takes the required arguments.
  [[nodiscard]] explicit free_persistent_coll_x(persistent_coll_t* persistent)
      : persistent_coll_argument(persistent) {}
  /// Frees the persistent collective.
  /// @throws std::logic_error if it is in progress.
  /// @throws std::invalid_argument if the handle is empty or freed.
  void operator()() const;
};
/// free_persistent_coll_x with the default of every option.
/// @relates free_persistent_coll_x
inline void free_persistent_coll(persistent_coll_t* persistent_coll) {
  free_persistent_coll_x{persistent_coll}();
}

/// @}

}  // namespace lci

#pragma GCC visibility pop

#endif  // LCI_API_PERSISTENT_COLL_HPP_
