/// @file
/// Groups of ranks.

/// @defgroup lci_groups Groups of ranks
/// A group is a list of ranks of a runtime, in an order of its own. Collective operations with the
/// option `group` are calls of its ranks alone. A rank may be in any number of groups, and threads
/// that use different groups do not wait for each other. Ranks of a group that share memory, on one
/// host, carry out the operations there, also where other ranks of the job are on other hosts.
///
/// A rank that fails ends the operations of the groups that it is in, and of no others. Where an
/// operation of another group finds the failure, a later progress() throws it.
#ifndef LCI_API_GROUP_HPP_
#define LCI_API_GROUP_HPP_

#include <cstddef>

#include "lci/api/option.hpp"
#include "lci/api/resource.hpp"
#include "lci/api/types.hpp"

#pragma GCC visibility push(default)

namespace lci {

/// @addtogroup lci_groups
/// @{

/// Makes a group of the ranks in a list. Collective: every rank of `group`, or of the runtime,
/// calls it, in the same order as the other collective operations. Each passes the list of the
/// group that it is to be in, so that several groups can be made by one call; a rank that is to be
/// in no group passes an empty list. The operation blocks, and must not be called inside a handler.
///
/// Required: `ranks`, `n`. Options: `runtime`, `device`, `endpoint`, `group` (all ranks), `name`,
/// `user_context`.
class [[nodiscard]] alloc_group_x : public option::device_options<alloc_group_x>,
                                    public option::group_option<alloc_group_x>,
                                    public option::group_attr_options<alloc_group_x>,
                                    public argument::ranks_argument<alloc_group_x, const int*>,
                                    public argument::n_argument<alloc_group_x, size_t> {
 public:
  /// Takes the required arguments.
  /// @param ranks the ranks of the new group, as `group` counts them, in the order of the new
  ///   group; equal on all of them. This rank is one of them.
  /// @param n number of ranks; 0: this rank is in no group.
  [[nodiscard]] alloc_group_x(const int* ranks, size_t n) : ranks_argument(ranks), n_argument(n) {}
  /// Makes the group.
  /// @return the group, or GROUP_NULL if `n` is 0. The program frees it by free_group.
  /// @throws std::invalid_argument if a rank is out of range or twice in the list, this rank is not
  ///   in it, or `group` is GROUP_NULL, has been freed or is of another runtime.
  /// @throws std::runtime_error if the ranks of the list do not pass the same one, or one of them
  ///   has no memory for the group.
  /// @throws peer_failure_error if a rank has failed.
  /// @throws std::logic_error inside a handler.
  group_t operator()() const;
};
/// alloc_group_x with the default of every option.
/// @relates alloc_group_x
inline group_t alloc_group(const int* ranks, size_t n) { return alloc_group_x(ranks, n)(); }

/// Divides the ranks into groups: those that pass the same color are in one group, ordered by key,
/// and ranks with the same key as before. Collective: every rank of `group`, or of the runtime,
/// calls it, in the same order as the other collective operations. The operation blocks, and must
/// not be called inside a handler.
///
/// Required: `color`, `key`. Options: `runtime`, `device`, `endpoint`, `group` (all ranks), `name`,
/// `user_context`.
class [[nodiscard]] split_group_x : public option::device_options<split_group_x>,
                                    public option::group_option<split_group_x>,
                                    public option::group_attr_options<split_group_x>,
                                    public argument::color_argument<split_group_x, int>,
                                    public argument::key_argument<split_group_x, int> {
 public:
  /// Takes the required arguments.
  /// @param color the group that this rank is to be in; below 0: none.
  /// @param key where this rank is to stand among the others of its color.
  [[nodiscard]] split_group_x(int color, int key) : color_argument(color), key_argument(key) {}
  /// Makes the groups.
  /// @return the group of this rank, or GROUP_NULL if `color` is below 0. The program frees it by
  ///   free_group.
  /// @throws std::invalid_argument if `group` is GROUP_NULL, has been freed or is of another runtime.
  /// @throws std::runtime_error if a rank of the color has no memory for the group.
  /// @throws peer_failure_error if a rank has failed.
  /// @throws std::logic_error inside a handler.
  group_t operator()() const;
};
/// split_group_x with the default of every option.
/// @relates split_group_x
inline group_t split_group(int color, int key) { return split_group_x(color, key)(); }

/// Frees a group, and empties the handle. Collective: every rank of the group calls it, when its
/// operations of the group are complete. The operation blocks, and must not be called inside a
/// handler. If it throws peer_failure_error or std::runtime_error, the handle is empty, too.
///
/// Required: `group`. Options: `runtime`, `device`, `endpoint`.
class [[nodiscard]] free_group_x : public option::device_options<free_group_x>,
                                   public argument::group_argument<free_group_x, group_t*> {
 public:
  /// Takes the required arguments.
  [[nodiscard]] explicit free_group_x(group_t* group) : group_argument(group) {}
  /// Frees the group.
  /// @throws std::invalid_argument if the group is empty or freed.
  /// @throws std::logic_error if an operation of the group is in progress, or inside a handler.
  /// @throws peer_failure_error if a rank of the group has failed.
  /// @throws std::runtime_error if a rank of the group calls another operation.
  void operator()() const;
};
/// free_group_x with the default of every option.
/// @relates free_group_x
inline void free_group(group_t* group) { free_group_x{group}(); }

/// Returns the rank of this process in a group, 0 to get_rank_n(group) - 1. Thread-safe.
/// @throws std::invalid_argument if the group is empty or freed.
int get_rank_me(group_t group);
/// Returns the number of ranks of a group. Thread-safe.
/// @throws std::invalid_argument if the group is empty or freed.
int get_rank_n(group_t group);
/// Returns the rank of the runtime that has the number `rank` in a group: the rank that sends,
/// receives, puts and gets name. Thread-safe.
/// @throws std::invalid_argument if the group is empty or freed, or `rank` is out of range.
int get_rank_of_group(group_t group, int rank);
/// Returns the number in a group of the rank `rank` of the runtime, or -1 if that is not in the
/// group. Thread-safe.
/// @throws std::invalid_argument if the group is empty or freed.
int get_rank_in_group(group_t group, int rank);

/// @}

}  // namespace lci

#pragma GCC visibility pop

#endif  // LCI_API_GROUP_HPP_
