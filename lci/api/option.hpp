/// @file
/// Named parameters: the options of operations, with their defaults.
#ifndef LCI_API_OPTION_HPP_
#define LCI_API_OPTION_HPP_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "lci/api/argument.hpp"  // IWYU pragma: export
#include "lci/api/resource.hpp"
#include "lci/api/types.hpp"

// The macros below are internal.

// Defines `name_option<Op>`: the argument of that name, with a default.
#define LCI_DEFINE_OPTION(type_, name_, default_)                                   \
  template <class Op>                                                               \
  class name_##_option : public argument::name_##_argument<Op, type_> {             \
   public:                                                                          \
    constexpr name_##_option() : argument::name_##_argument<Op, type_>(default_) {} \
  }

// Defines `name_override<Op>`: an option that replaces a global default attribute if it is set.
#define LCI_DEFINE_OVERRIDE(type_, name_)                                 \
  template <class Op>                                                     \
  class name_##_override {                                                \
   public:                                                                \
    LCI_DEFINE_SETTER(type_, name_)                                       \
    const option_t<type_>& get_##name_() const { return name_##_value_; } \
                                                                          \
   private:                                                               \
    option_t<type_> name_##_value_;                                       \
  }

#pragma GCC visibility push(default)

namespace lci {

/// @addtogroup lci_parameters
/// @{

/// As the option `ring_nsteps`: get_rank_n() - 1 steps.
constexpr int RING_NSTEPS_DEFAULT = 0;

/// A function of the program that frees the value of a node when its graph is freed.
using graph_node_free_cb_t = void (*)(void* value);

/// A value that may be unset. Not thread-safe.
template <class T>
struct option_t {
  /// Makes an unset value.
  option_t() = default;
  /// Makes a set value.
  option_t(T value) : m_value(std::move(value)), m_is_set(true) {}  // NOLINT: implicit by interface
  /// Makes a value that counts as set only if `is_set` is true.
  option_t(T value, bool is_set) : m_value(std::move(value)), m_is_set(is_set) {}

  /// Whether the value is set.
  bool is_set() const { return m_is_set; }
  /// Returns the value, or T() if it is unset.
  T get_value() const { return m_value; }
  /// Returns the value, or `default_value` if it is unset.
  T get_value_or(T default_value) const { return m_is_set ? m_value : default_value; }
  /// Writes the value to `*value` if it is set, and returns whether it is set.
  bool get_set_value(T* value) const {
    if (m_is_set) *value = m_value;
    return m_is_set;
  }
  /// Returns get_value().
  operator T() const { return m_value; }  // NOLINT: implicit by interface

  T m_value = T();        ///< The value.
  bool m_is_set = false;  ///< Whether it is set.
};

/// The parameters that have a default, and the same type in every operation.
namespace option {

/// The runtime. Default: the runtime of the other resources given, else the global runtime.
template <class Op>
class runtime_option : public operation<Op>, public argument::runtime_argument<Op, runtime_t> {
 public:
  /// Sets the default.
  constexpr runtime_option() : argument::runtime_argument<Op, runtime_t>(runtime_t()) {}
};
/// The device through which the operation works. Default: the device of the endpoint given, else
/// the default device of the runtime.
LCI_DEFINE_OPTION(device_t, device, device_t());
/// The endpoint through which the operation works. Default: the default endpoint of the device.
LCI_DEFINE_OPTION(endpoint_t, endpoint, endpoint_t());
/// The options by which an operation finds its device: `runtime`, `device` and `endpoint`.
template <class Op>
class device_options : public runtime_option<Op>,
                       public device_option<Op>,
                       public endpoint_option<Op> {};
/// The packet pool: a post looks `local_buffer` up in it, and other operations use its packets.
/// Default: for a post the packet pool of the device, else the default packet pool of the runtime.
LCI_DEFINE_OPTION(packet_pool_t, packet_pool, packet_pool_t());
/// The matching engine that pairs the sends and receives. Default: the default matching engine of
/// the runtime; collective operations have one of their own.
LCI_DEFINE_OPTION(matching_engine_t, matching_engine, matching_engine_t());
/// The group whose ranks call the operation. Default: all ranks of the runtime.
LCI_DEFINE_OPTION(group_t, group, group_t());
/// The thread team whose threads call the operation, each by itself. Default: none; the ranks call
/// it.
LCI_DEFINE_OPTION(thread_team_t, thread_team, thread_team_t());
/// The number of the calling thread among those of its rank in the thread team, from 0. Default: 0.
LCI_DEFINE_OPTION(size_t, thread, 0);
/// The net context. Default: the default net context of the runtime.
LCI_DEFINE_OPTION(net_context_t, net_context, net_context_t());

/// Defines when a send is locally complete.
LCI_DEFINE_OPTION(comp_semantic_t, comp_semantic, comp_semantic_t::memory);
/// The registration of the local buffer; it must cover the buffer and be of the net context of the
/// device. Default: none; the library registers the buffer if the network needs that.
LCI_DEFINE_OPTION(mr_t, mr, MR_HOST);
/// The offset of the remote buffer in `rmr`, in bytes.
LCI_DEFINE_OPTION(uintptr_t, remote_disp, 0);
/// The registered memory that holds the remote buffer. Default: none; the other side names its
/// buffer.
LCI_DEFINE_OPTION(rmr_t, rmr, RMR_NULL);
/// The tag, which travels with the message; at most the attribute `max_tag` of the runtime. That of
/// a put with signal takes a message more if it is larger than `max_imm_tag`.
LCI_DEFINE_OPTION(tag_t, tag, 0);
/// The completion object of the other side, by the number that register_rcomp returned there; 0:
/// none.
LCI_DEFINE_OPTION(rcomp_t, remote_comp, 0);
/// A value that the program gets back: of an operation in the status of this side, of a resource by
/// get_attr_user_context().
LCI_DEFINE_OPTION(void*, user_context, nullptr);
/// Defines what a send and a receive must have in common.
LCI_DEFINE_OPTION(matching_policy_t, matching_policy, matching_policy_t::rank_tag);
/// If false, the post never returns `done`: an operation that completes at once signals its
/// completion object, and the post returns `posted`. Requires a completion object.
LCI_DEFINE_OPTION(bool, allow_done, true);
/// If false, the post never returns `posted`: it makes progress until the operation is complete.
LCI_DEFINE_OPTION(bool, allow_posted, true);
/// If false, the post never returns `retry`: an operation that cannot be sent now waits in the
/// backlog of the device, and the post returns `posted`.
LCI_DEFINE_OPTION(bool, allow_retry, true);
/// The immediate data of an operation of the network.
LCI_DEFINE_OPTION(net_imm_data_t, imm_data, 0);

/// The name of the resource, for diagnostics. The string must outlive the resource.
LCI_DEFINE_OPTION(const char*, name, DEFAULT_NAME);
/// The function that makes the keys of the matching engine. Default: rank, tag and policy are
/// compared as they are.
LCI_DEFINE_OPTION(matching_make_key_t, make_key, nullptr);
/// Whether the call makes progress while it waits.
LCI_DEFINE_OPTION(bool, do_progress, true);
/// The number under which the completion object is registered; 0: the next free number.
LCI_DEFINE_OPTION(rcomp_t, rcomp, 0);
/// The completion object that is signaled at the end. Default: none; a collective operation then
/// blocks.
LCI_DEFINE_OPTION(comp_t, comp, COMP_NULL);
/// The value that the functions of the node get.
LCI_DEFINE_OPTION(void*, value, nullptr);
/// The function that frees `value` with the graph. Default: none.
LCI_DEFINE_OPTION(graph_node_free_cb_t, free_cb, nullptr);
/// The status with which the node completes. Default: `done`.
LCI_DEFINE_OPTION(status_t, status, status_t());

/// The design of the completion queue. Default: the global attribute `cq_type`.
LCI_DEFINE_OVERRIDE(attr_cq_type_t, cq_type);
/// The number of statuses that an array_atomic queue holds, at least 1. Default: the global
/// attribute `cq_default_length`.
LCI_DEFINE_OVERRIDE(int, default_length);
/// The network interface. Default: the global attribute `device_name`.
LCI_DEFINE_OVERRIDE(std::string, device_name);
/// Whether the bytes of active messages are lent: the library owns them, and they are readable
/// until signal() returns. Default: the global attribute `lend_am`.
LCI_DEFINE_OVERRIDE(bool, lend_am);
/// The number of bits of a signal's counter that count events, 1 to 40. Default: the global
/// attribute `signal_nbits_event`.
LCI_DEFINE_OVERRIDE(int, signal_nbits_event);
/// The number of signals that a synchronizer waits for, at least 1. Default: the global attribute
/// `sync_threshold`.
LCI_DEFINE_OVERRIDE(int, threshold);
/// Whether active messages arrive in packets, which the program returns by put_upacket. Default:
/// the global attribute `zero_copy_am`.
LCI_DEFINE_OVERRIDE(bool, zero_copy_am);

/// The number of steps, and of pieces, in which a ring algorithm passes a buffer on; at least 1.
/// Default: get_rank_n() - 1.
LCI_DEFINE_OPTION(int, ring_nsteps, RING_NSTEPS_DEFAULT);
/// Whether a reduction combines the items of the ranks as x0 op (x1 op (x2 ...)), wherever the
/// ranks are. Default: false.
LCI_DEFINE_OPTION(bool, deterministic, false);
/// Where the block for each rank stands in the send buffer, in bytes, by rank. Default: one block
/// behind the other.
LCI_DEFINE_OPTION(const size_t*, sendoffsets, nullptr);
/// Where the block of each rank stands in the receive buffer, in bytes, by rank. Default: one block
/// behind the other.
LCI_DEFINE_OPTION(const size_t*, recvoffsets, nullptr);
/// Where the bytes of a broadcast stand in the buffer of this rank. Default: one behind the other.
LCI_DEFINE_OPTION(const layout_t*, layout, nullptr);
/// Where the bytes of the block of this rank stand in the send buffer. Default: one behind the
/// other.
LCI_DEFINE_OPTION(const layout_t*, sendlayout, nullptr);
/// Where the bytes of the block for each rank stand in the send buffer, by rank. Default: one
/// behind the other, and one block behind the other.
LCI_DEFINE_OPTION(const layout_t*, sendlayouts, nullptr);
/// Where the bytes of the block of this rank stand in the receive buffer. Default: one behind the
/// other.
LCI_DEFINE_OPTION(const layout_t*, recvlayout, nullptr);
/// Where the bytes of the block of each rank stand in the receive buffer, by rank. Default: one
/// behind the other, and one block behind the other.
LCI_DEFINE_OPTION(const layout_t*, recvlayouts, nullptr);

/// @class lci::option::runtime_attr_options
/// The options of operations that allocate a runtime: the attributes that the program may set, and
/// `name` and `user_context`. Default of each attribute: the global default.

/// @class lci::option::packet_pool_attr_options
/// The options of alloc_packet_pool_x: the attributes that the program may set, and `name` and
/// `user_context`. Default of each attribute: the global default.

/// @class lci::option::matching_engine_attr_options
/// The options of alloc_matching_engine_x: the attributes that the program may set, and `name` and
/// `user_context`. Default of each attribute: the global default.

/// @class lci::option::comp_attr_options
/// The attributes of completion objects as options, and `name` and `user_context`. Default of each
/// attribute: the global default.

/// @class lci::option::net_context_attr_options
/// The options of alloc_net_context_x: the attributes that the program may set, and `name` and
/// `user_context`. Default of each attribute: the global default.

/// @class lci::option::device_attr_options
/// The options of operations that allocate devices: the attributes that the program may set, and
/// `name` and `user_context`. Default of each attribute: the global default.

/// @class lci::option::mr_attr_options
/// The options of operations that register memory: `name` and `user_context`.

/// @class lci::option::plan_attr_options
/// The options of alloc_plan_x: `name` and `user_context`.

/// @class lci::option::group_attr_options
/// The options of operations that make groups: `name` and `user_context`.

/// @class lci::option::persistent_coll_attr_options
/// The options of alloc_persistent_coll_x: `name` and `user_context`.

/// @class lci::option::thread_team_attr_options
/// The options of alloc_thread_team_x: `name` and `user_context`.

/// @class lci::option::endpoint_attr_options
/// The options of alloc_endpoint_x: `name` and `user_context`.

// Defines these classes. resolve() returns the defaults, with the values that were set.
#define LCI_ATTR_SETTER(type_, name_, default_, doc_) \
  /** doc_ */                                         \
  LCI_DEFINE_SETTER(type_, name_)
#define LCI_ATTR_OVERRIDE(type_, name_, default_, doc_) option_t<type_> name_##_value_;
#define LCI_ATTR_RESOLVE(type_, name_, default_, doc_) \
  attr.name_ = name_##_value_.get_value_or(defaults.name_);
// clang-format off
#define LCI_ATTR_OPTIONS(resource_, RESOURCE_)                                                     \
  template <class Op>                                                                              \
  class resource_##_attr_options : public name_option<Op>, public user_context_option<Op> {        \
   public:                                                                                         \
    LCI_##RESOURCE_##_ATTRS(LCI_ATTR_SETTER)                                                       \
    /** Returns the attributes: the defaults, with the values that were set. */                    \
    resource_##_attr_t resolve([[maybe_unused]] const global_attr_t& defaults) const {             \
      resource_##_attr_t attr;                                                                     \
      LCI_##RESOURCE_##_ATTRS(LCI_ATTR_RESOLVE)                                                    \
      attr.name = this->get_name();                                                                \
      attr.user_context = this->get_user_context();                                                \
      return attr;                                                                                 \
    }                                                                                              \
                                                                                                   \
   private:                                                                                        \
    LCI_##RESOURCE_##_ATTRS(LCI_ATTR_OVERRIDE)                                                     \
  };
// clang-format on
LCI_RESOURCES(LCI_ATTR_OPTIONS)
#undef LCI_ATTR_OPTIONS
#undef LCI_ATTR_RESOLVE
#undef LCI_ATTR_OVERRIDE
#undef LCI_ATTR_SETTER

}  // namespace option

/// @}

}  // namespace lci

#pragma GCC visibility pop

#endif  // LCI_API_OPTION_HPP_
