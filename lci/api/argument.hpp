/// @file
/// Named parameters: the arguments of operations, by their names.

/// @defgroup lci_parameters Named parameters
/// The arguments of operations, by the named-parameter idiom (SC'25 paper, section 4.1). Every
/// operation `f` also exists as a function object `f_x` with one setter per parameter, in any
/// order, and operator() to run it:
/// @code
/// status = lci::post_send(rank, buffer, size, tag, comp);
/// status = lci::post_send_x(rank, buffer, size, tag, comp).device(device)();
/// @endcode
///
/// The constructor takes the required arguments, and each of them has a setter of its name, too.
/// The options have defaults. A parameter `p` has the setter `p(value)` and the getter `get_p()`.
/// The program may keep an `f_x` object, copy it and call it again; one thread at a time may use
/// an object that a setter changes. The result of a setter on a temporary must not be discarded:
/// `post_am_x(...).tag(5);` sends nothing, since the second pair of parentheses is missing, and the
/// compiler warns.
#ifndef LCI_API_ARGUMENT_HPP_
#define LCI_API_ARGUMENT_HPP_

#include <utility>

// The macros below are internal.

// Defines the setter `name_(value)` of the member `member_`. It returns the operation.
#define LCI_DEFINE_SETTER_OF(type_, name_, member_) \
  Op& name_(type_ value)& {                         \
    member_ = std::move(value);                     \
    return static_cast<Op&>(*this);                 \
  }                                                 \
  [[nodiscard]] Op&& name_(type_ value)&& {         \
    member_ = std::move(value);                     \
    return static_cast<Op&&>(*this);                \
  }
// Defines the setter `name_(value)` of the member `name__value_`.
#define LCI_DEFINE_SETTER(type_, name_) LCI_DEFINE_SETTER_OF(type_, name_, name_##_value_)

// Defines `name_argument<Op, T>`: a parameter of type T that the constructor sets, with the setter
// `name(value)` and the getter `get_name()`.
#define LCI_DEFINE_ARGUMENT(name_)                                                     \
  template <class Op, class T>                                                         \
  class name_##_argument {                                                             \
   public:                                                                             \
    constexpr explicit name_##_argument(T value) : name_##_value_(std::move(value)) {} \
    LCI_DEFINE_SETTER(T, name_)                                                        \
    constexpr const T& get_##name_() const { return name_##_value_; }                  \
                                                                                       \
   private:                                                                            \
    T name_##_value_;                                                                  \
  }

#pragma GCC visibility push(default)

namespace lci {

/// @addtogroup lci_parameters
/// @{

/// The base of all operations.
template <class Op>
class operation {
 public:
  /// Runs the operation: another name of operator().
  auto call() const { return static_cast<const Op&>(*this)(); }
};

/// The parameters of operations, one class for each name. An operation inherits the class of each
/// of its parameters, and with it the setter `name(value)` and the getter `get_name()`.
namespace argument {

/// Start of the memory.
LCI_DEFINE_ARGUMENT(address);
/// Algorithm of a collective operation.
LCI_DEFINE_ARGUMENT(algorithm);
/// Allocator for the bytes of incoming active messages.
LCI_DEFINE_ARGUMENT(allocator);
/// Whether a post may return `done`.
LCI_DEFINE_ARGUMENT(allow_done);
/// Whether a post may return `posted`.
LCI_DEFINE_ARGUMENT(allow_posted);
/// Whether a post may return `retry`.
LCI_DEFINE_ARGUMENT(allow_retry);
/// A block of registered memory.
LCI_DEFINE_ARGUMENT(block);
/// A buffer.
LCI_DEFINE_ARGUMENT(buffer);
/// A collective operation.
LCI_DEFINE_ARGUMENT(collective);
/// Ranks with the same one are in the same group.
LCI_DEFINE_ARGUMENT(color);
/// A completion object.
LCI_DEFINE_ARGUMENT(comp);
/// Defines when a send is locally complete.
LCI_DEFINE_ARGUMENT(comp_semantic);
/// Value with which another one is compared.
LCI_DEFINE_ARGUMENT(compare);
/// Number of items.
LCI_DEFINE_ARGUMENT(count);
/// A device.
LCI_DEFINE_ARGUMENT(device);
/// A set of devices for the threads of the program.
LCI_DEFINE_ARGUMENT(devices);
/// Direction in which bytes move.
LCI_DEFINE_ARGUMENT(direction);
/// Whether a call that waits also makes progress.
LCI_DEFINE_ARGUMENT(do_progress);
/// Node of a graph at which an edge ends.
LCI_DEFINE_ARGUMENT(dst);
/// An endpoint.
LCI_DEFINE_ARGUMENT(endpoint);
/// Kind of an entry of a matching engine.
LCI_DEFINE_ARGUMENT(entry_type);
/// Function of a node or edge of a graph.
LCI_DEFINE_ARGUMENT(fn);
/// Function that frees the value of a node.
LCI_DEFINE_ARGUMENT(free_cb);
/// A group of ranks.
LCI_DEFINE_ARGUMENT(group);
/// A thread team.
LCI_DEFINE_ARGUMENT(thread_team);
/// A thread of a thread team, by its number among those of its rank.
LCI_DEFINE_ARGUMENT(thread);
/// Number of threads.
LCI_DEFINE_ARGUMENT(nthreads);
/// Function that a handler calls.
LCI_DEFINE_ARGUMENT(handler);
/// Immediate data.
LCI_DEFINE_ARGUMENT(imm_data);
/// Bytes of an item.
LCI_DEFINE_ARGUMENT(item_size);
/// Key of an entry of a matching engine; of a rank, by which the ranks of a group are ordered.
LCI_DEFINE_ARGUMENT(key);
/// Bytes of registered memory, or of a buffer, that a message consists of.
LCI_DEFINE_ARGUMENT(layout);
/// The block of this rank.
LCI_DEFINE_ARGUMENT(local);
/// The buffer of this rank.
LCI_DEFINE_ARGUMENT(local_buffer);
/// Completion object that is signaled when the operation is locally complete.
LCI_DEFINE_ARGUMENT(local_comp);
/// Function that makes the keys of a matching engine.
LCI_DEFINE_ARGUMENT(make_key);
/// A matching engine.
LCI_DEFINE_ARGUMENT(matching_engine);
/// Defines what a send and a receive must have in common.
LCI_DEFINE_ARGUMENT(matching_policy);
/// Number of entries at most.
LCI_DEFINE_ARGUMENT(max_polls);
/// Registered memory.
LCI_DEFINE_ARGUMENT(mr);
/// A number of objects.
LCI_DEFINE_ARGUMENT(n);
/// Name of a resource, for diagnostics.
LCI_DEFINE_ARGUMENT(name);
/// A net context.
LCI_DEFINE_ARGUMENT(net_context);
/// Node of a graph.
LCI_DEFINE_ARGUMENT(node);
/// Number of events of a signal.
LCI_DEFINE_ARGUMENT(num_event);
/// Number of a device in its set.
LCI_DEFINE_ARGUMENT(number);
/// Offset in bytes.
LCI_DEFINE_ARGUMENT(offset);
/// Operator of a reduction.
LCI_DEFINE_ARGUMENT(op);
/// Array that receives statuses.
LCI_DEFINE_ARGUMENT(p_out);
/// A packet.
LCI_DEFINE_ARGUMENT(packet);
/// A packet pool.
LCI_DEFINE_ARGUMENT(packet_pool);
/// A persistent collective.
LCI_DEFINE_ARGUMENT(persistent_coll);
/// A plan.
LCI_DEFINE_ARGUMENT(plan);
/// The other rank.
LCI_DEFINE_ARGUMENT(rank);
/// A list of ranks.
LCI_DEFINE_ARGUMENT(ranks);
/// Number of a completion object.
LCI_DEFINE_ARGUMENT(rcomp);
/// Signal that counts arrivals.
LCI_DEFINE_ARGUMENT(recv_signal);
/// Buffer that receives the result.
LCI_DEFINE_ARGUMENT(recvbuf);
/// Number of items that each rank receives.
LCI_DEFINE_ARGUMENT(recvcount);
/// Number of items that each rank receives, by rank.
LCI_DEFINE_ARGUMENT(recvcounts);
/// Where the bytes of the block stand in the buffer that receives it.
LCI_DEFINE_ARGUMENT(recvlayout);
/// Where the bytes of the block of each rank stand in the buffer that receives it, by rank.
LCI_DEFINE_ARGUMENT(recvlayouts);
/// Where the block of each rank stands in the buffer that receives it, in bytes, by rank.
LCI_DEFINE_ARGUMENT(recvoffsets);
/// Size of the block that each rank contributes, in bytes, by rank.
LCI_DEFINE_ARGUMENT(recvsizes);
/// The block of the other rank.
LCI_DEFINE_ARGUMENT(remote);
/// Completion object of the other rank.
LCI_DEFINE_ARGUMENT(remote_comp);
/// Offset of the remote buffer in its registered memory, in bytes.
LCI_DEFINE_ARGUMENT(remote_disp);
/// Number of steps of a ring algorithm.
LCI_DEFINE_ARGUMENT(ring_nsteps);
/// Whether the order of a reduction is fixed.
LCI_DEFINE_ARGUMENT(deterministic);
/// Registered memory of the other rank.
LCI_DEFINE_ARGUMENT(rmr);
/// Root of a collective operation.
LCI_DEFINE_ARGUMENT(root);
/// The runtime. Default, where it is an option: the runtime of the other resources given, else the
/// global runtime.
LCI_DEFINE_ARGUMENT(runtime);
/// Signal that counts local completions.
LCI_DEFINE_ARGUMENT(send_signal);
/// Buffer with the contribution of this rank.
LCI_DEFINE_ARGUMENT(sendbuf);
/// Where the bytes of the block stand in the buffer that is sent.
LCI_DEFINE_ARGUMENT(sendlayout);
/// Where the bytes of the block for each rank stand in the buffer that is sent, by rank.
LCI_DEFINE_ARGUMENT(sendlayouts);
/// Where the block for each rank stands in the buffer that is sent, in bytes, by rank.
LCI_DEFINE_ARGUMENT(sendoffsets);
/// Size of the block for each rank, in bytes, by rank.
LCI_DEFINE_ARGUMENT(sendsizes);
/// A signal.
LCI_DEFINE_ARGUMENT(signal);
/// Number of bytes.
LCI_DEFINE_ARGUMENT(size);
/// Node of a graph at which an edge begins.
LCI_DEFINE_ARGUMENT(src);
/// A status.
LCI_DEFINE_ARGUMENT(status);
/// Array that receives entries.
LCI_DEFINE_ARGUMENT(statuses);
/// A tag.
LCI_DEFINE_ARGUMENT(tag);
/// Value that comes back in the status.
LCI_DEFINE_ARGUMENT(user_context);
/// A value.
LCI_DEFINE_ARGUMENT(value);

}  // namespace argument

/// @}

}  // namespace lci

#pragma GCC visibility pop

#endif  // LCI_API_ARGUMENT_HPP_
