/// @file
/// Collective operations in which every thread takes part.

/// @defgroup lci_thread_teams Thread teams
/// A thread team has some threads of every rank of a group. Each of them calls collective
/// operations by itself, with the options `thread_team` and `thread`, and with buffers of its own;
/// no barrier of the program's threads is needed around the call. The operations are barrier_x,
/// broadcast_x, reduce_x and allreduce_x.
///
/// The threads of a team are counted rank by rank: those of rank 0 of the group first, in the order
/// of their numbers. `root` is such a count, and reductions combine the buffers in this order.
///
/// All threads of a team call its operations in the same order, with the same kind, root, sizes and
/// operator. The operations block; each thread makes progress on its `device` meanwhile, so that
/// threads with devices of their own serve them. The last thread of a rank to arrive acts for the
/// rank. An operator may be called by several threads at a time.
///
/// **Errors**, besides those of @ref lci_collectives; all threads of the rank throw them:
/// - std::invalid_argument: the team has been freed; `thread` is not below the number of threads;
///   the option `group`, `matching_engine`, `algorithm` or `comp` is given together with
///   `thread_team`; the threads of this rank pass different arguments, or two pass the same number.
/// - peer_failure_error: a rank of the team has failed; also if some threads of this rank have not
///   called the operation yet, which then throws in them, too.
#ifndef LCI_API_THREAD_TEAM_HPP_
#define LCI_API_THREAD_TEAM_HPP_

#include <cstddef>

#include "lci/api/option.hpp"
#include "lci/api/resource.hpp"
#include "lci/api/types.hpp"

#pragma GCC visibility push(default)

namespace lci {

/// @addtogroup lci_thread_teams
/// @{

/// Makes a team of `nthreads` threads of this rank and those of the other ranks. Collective: one
/// thread of every rank of `group`, or of the runtime, calls it, in the same order as the other
/// collective operations. The numbers of threads may differ. The operation blocks, and must not be
/// called inside a handler.
///
/// Required: `nthreads`. Options: `runtime`, `device`, `endpoint`, `group` (all ranks), `name`,
/// `user_context`.
class [[nodiscard]] alloc_thread_team_x
    : public option::device_options<alloc_thread_team_x>,
      public option::group_option<alloc_thread_team_x>,
      public option::thread_team_attr_options<alloc_thread_team_x>,
      public argument::nthreads_argument<alloc_thread_team_x, size_t> {
 public:
  /// Takes the required arguments.
  /// @param nthreads threads of this rank, 1 or more.
  [[nodiscard]] explicit alloc_thread_team_x(size_t nthreads) : nthreads_argument(nthreads) {}
  /// Makes the team.
  /// @return the team. The program frees it by free_thread_team.
  /// @throws std::invalid_argument if `nthreads` is 0, or `group` has been freed or is of another
  ///   runtime.
  /// @throws std::runtime_error if a rank has no memory for the team.
  /// @throws peer_failure_error if a rank has failed.
  /// @throws std::logic_error inside a handler.
  thread_team_t operator()() const;
};
/// alloc_thread_team_x with the default of every option.
/// @relates alloc_thread_team_x
inline thread_team_t alloc_thread_team(size_t nthreads) { return alloc_thread_team_x(nthreads)(); }

/// Frees a team, and empties the handle. Collective: one thread of every rank calls it, when all
/// threads of its rank have returned from the operations of the team. The operation blocks, and
/// must not be called inside a handler. If it throws peer_failure_error or std::runtime_error, the
/// handle is empty, too.
///
/// Required: `thread_team`. Options: `runtime`, `device`, `endpoint`.
class [[nodiscard]] free_thread_team_x
    : public option::device_options<free_thread_team_x>,
      public argument::thread_team_argument<free_thread_team_x, thread_team_t*> {
 public:
  /// Takes the required arguments.
  [[nodiscard]] explicit free_thread_team_x(thread_team_t* team) : thread_team_argument(team) {}
  /// Frees the team.
  /// @throws std::invalid_argument if the team is empty or freed.
  /// @throws std::logic_error if a thread of this rank is in an operation of the team, or inside a
  ///   handler.
  /// @throws peer_failure_error if a rank of the team has failed.
  void operator()() const;
};
/// free_thread_team_x with the default of every option.
/// @relates free_thread_team_x
inline void free_thread_team(thread_team_t* team) { free_thread_team_x{team}(); }

/// Returns the number of threads of a team, of all ranks. Thread-safe.
/// @throws std::invalid_argument if the team is empty or freed.
size_t get_thread_n(thread_team_t team);
/// Returns the number of a thread of this rank among those of all ranks. Thread-safe.
/// @param thread its number among those of this rank.
/// @throws std::invalid_argument if the team is empty or freed, or `thread` is out of range.
size_t get_thread_me(thread_team_t team, size_t thread);

/// @}

}  // namespace lci

#pragma GCC visibility pop

#endif  // LCI_API_THREAD_TEAM_HPP_
