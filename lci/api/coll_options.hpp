/// @file
/// Rules and options that all collective operations have in common.

/// @defgroup lci_collectives Collective operations
/// Every rank of the runtime, or with the option `group` every rank of that group, calls a
/// collective operation, in the same order for each matching engine and each group. Several may be
/// in progress at a time: those of one matching engine or group in the order of the calls, those of
/// different ones in any order. A matching engine may serve sends and receives at the same time. In
/// an operation of a group, ranks are counted from 0 in the order of the group, and get_rank_n()
/// and get_rank_me() stand for those of the group; the option `matching_engine` cannot be given.
///
/// Without the option `comp` the operation blocks, and makes progress on `device` meanwhile; it
/// must not be called inside a handler. With `comp` it returns at once, and `comp` is signaled when
/// the part of this rank is over, with a status whose error is `done` or `fatal` and whose
/// user_context is null. The buffers are owned by the library until then, and the program makes
/// progress. Any thread may call a collective operation; if several threads do, the program
/// determines their order.
///
/// Counts and sizes must be the same on all ranks, except those of alltoallv; sizes are in bytes,
/// and 0 is valid. Arrays of sizes, counts and offsets have an entry for each rank, and are the
/// program's again when the call returns, also with `comp`. A rank that fails ends the operation on
/// the ranks that need it.
///
/// **Order of reductions.** Operators must be associative, and need not be commutative: the items
/// are combined in the order of ranks, and all ranks get the same bytes. The addition of
/// floating-point numbers is not quite associative, so that the brackets count. They depend on the
/// operation, its size, the attributes, and the hosts and networks of the ranks, but not on the
/// arrival of messages: a job that is repeated under the same conditions gets the same bytes. With
/// the option `deterministic`, the result is x0 op (x1 op (x2 ...)) under all conditions, where x0,
/// x1, x2 are the items of ranks 0, 1, 2 and so on. The option costs nothing among ranks of one
/// host. Between hosts, a rank may have to receive the items of all others. The option must be
/// equal on all ranks; `algorithm` then has no effect, and `thread_team` cannot be given.
///
/// **Layouts.** The bytes of a block need not stand one behind the other: the options `layout` of
/// broadcast, `sendlayout` and `recvlayout`, where this rank has one block, and `sendlayouts` and
/// `recvlayouts`, where it has one for each rank, say where they stand (layout_t). Offsets count
/// from the start of the buffer; a layout is as large as its block. Each rank chooses for itself
/// whether it passes layouts, and which: a block is a sequence of bytes, and only its size is equal
/// on both sides. Gaps in a receive buffer keep their bytes. With a layout, the buffers must not
/// overlap; nor must the blocks of a receive buffer. Layouts, like arrays, are the program's again
/// when the call returns. Blocks with gaps are copied into memory of the library and out of it,
/// once each. A matrix of `rows * ranks` rows is transposed as follows; each rank has `rows` of
/// them:
/// @code
/// const size_t row = ranks * rows * sizeof(double);  // bytes
/// const size_t part = rows * sizeof(double);
/// std::vector<lci::layout_t> columns(ranks), transposed(ranks);
/// for (size_t r = 0; r < ranks; ++r) {
///   // A row of the block after the other; each becomes a column.
///   columns[r] = {r * part, part, rows, row};
///   transposed[r] = {r * part, sizeof(double), rows, row, rows, sizeof(double)};
/// }
/// lci::alltoall_x(matrix, result, rows * part)
///     .sendlayouts(columns.data())
///     .recvlayouts(transposed.data())();
/// @endcode
///
/// Ranks that all share memory, on one host (not over the backend `ofi`), carry out the operations
/// of the default matching engine, and those of a group, there, unless the option `algorithm` asks
/// for messages. They compare what they call: a rank that calls another operation, or the same one
/// with another root, size or item size, is an error that names both calls, at the latest in the
/// next operation that waits for that rank, or in free_runtime. Ranks of one host do so, too, where
/// others of the runtime or group are on other hosts. Other ranks that call different operations
/// wait for each other, and the hang report names them; messages of another size than expected are
/// an error.
///
/// **Errors.**
/// - std::invalid_argument: `root`, a null buffer with a size, a null array, `op`, `ring_nsteps`
///   below 0, `comp` is COMP_NULL_RETRY; a layout of another size than its block, one of a receive
///   buffer whose pieces overlap, or layouts together with offsets; the group has been freed, is of
///   another runtime, or is given together with a matching engine.
/// - std::logic_error: a blocking operation inside a handler.
/// - peer_failure_error, of a blocking operation: a rank has failed; std::runtime_error: another
///   failure, such as ranks with different sizes. With `comp`, its status is `fatal` instead.
#ifndef LCI_API_COLL_OPTIONS_HPP_
#define LCI_API_COLL_OPTIONS_HPP_

#include "lci/api/option.hpp"
#include "lci/api/resource.hpp"
#include "lci/api/types.hpp"

#pragma GCC visibility push(default)

namespace lci {

/// @addtogroup lci_collectives
/// @{

/// The options of every collective operation: `runtime`, `device` and `endpoint` (the default
/// device of the global runtime), `matching_engine` (one that only collective operations use),
/// `group` (all ranks), and `comp` (none: the operation blocks).
template <class Op>
class coll_options : public option::device_options<Op>,
                     public option::matching_engine_option<Op>,
                     public option::group_option<Op>,
                     public option::comp_option<Op> {};

/// The options of a collective operation in which every thread of a thread team can take part by
/// itself: `thread_team` (none: the ranks call the operation) and `thread`. See @ref
/// lci_thread_teams.
template <class Op>
class thread_options : public option::thread_team_option<Op>, public option::thread_option<Op> {};

/// The option `algorithm`, whose type depends on the operation. Default: `none`, the library
/// chooses.
template <class Op, class Algorithm>
class algorithm_option : public argument::algorithm_argument<Op, Algorithm> {
 public:
  /// Sets the algorithm to `none`.
  algorithm_option() : argument::algorithm_argument<Op, Algorithm>(Algorithm::none) {}
};

/// @}

}  // namespace lci

#pragma GCC visibility pop

#endif  // LCI_API_COLL_OPTIONS_HPP_
