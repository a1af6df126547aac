/// @file
/// The named-parameter idiom (SC'25 paper, section 4.1): every operation `f` also exists as a
/// function object `f_x` with one setter per parameter, in any order, and operator() to run it.
///
/// A parameter is one small class, defined here once, that an operation inherits. Positional
/// parameters have a setter of their name, too. An `_x` object can be kept, copied and called
/// again. A setter on a temporary must not be discarded: `post_am_x(...).tag(5);` sends nothing,
/// since the second pair of parentheses is missing, and the compiler says so.
#ifndef LCI_API_OPTION_HPP_
#define LCI_API_OPTION_HPP_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "lci/api/resource.hpp"
#include "lci/api/types.hpp"

/// Defines the setter `name_(value)` of the member `member_`, which returns the operation.
#define LCI_DEFINE_SETTER_OF(type_, name_, member_) \
  Op& name_(type_ value)& {                         \
    member_ = std::move(value);                     \
    return static_cast<Op&>(*this);                 \
  }                                                 \
  [[nodiscard]] Op&& name_(type_ value)&& {         \
    member_ = std::move(value);                     \
    return static_cast<Op&&>(*this);                \
  }
#define LCI_DEFINE_SETTER(type_, name_) LCI_DEFINE_SETTER_OF(type_, name_, name_##_value_)

/// Defines `name_argument<Op, T>`: a parameter of type T that the constructor sets, with the setter
/// `name(value)` and the getter `get_name()`.
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

/// Defines `name_option<Op>`: the argument of that name, with a default.
#define LCI_DEFINE_OPTION(type_, name_, default_)                                   \
  template <class Op>                                                               \
  class name_##_option : public argument::name_##_argument<Op, type_> {             \
   public:                                                                          \
    constexpr name_##_option() : argument::name_##_argument<Op, type_>(default_) {} \
  }

/// Defines `name_override<Op>`: an option that replaces a global default attribute if it is set.
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

/// The number of steps of a ring algorithm that stands for get_rank_n() - 1.
constexpr int RING_NSTEPS_DEFAULT = 0;

using graph_node_free_cb_t = void (*)(void* value);

/// A value that may be unset. Not thread-safe.
template <class T>
struct option_t {
  option_t() = default;
  option_t(T value) : m_value(std::move(value)), m_is_set(true) {}  // NOLINT: implicit by interface
  /// A value that counts as set only if `is_set`.
  option_t(T value, bool is_set) : m_value(std::move(value)), m_is_set(is_set) {}

  bool is_set() const { return m_is_set; }
  T get_value() const { return m_value; }
  T get_value_or(T default_value) const { return m_is_set ? m_value : default_value; }
  /// Writes the value to `*value` and returns true, if it is set.
  bool get_set_value(T* value) const {
    if (m_is_set) *value = m_value;
    return m_is_set;
  }
  operator T() const { return m_value; }  // NOLINT: implicit by interface

  T m_value = T();
  bool m_is_set = false;
};

/// What every operation has: call(), another name of operator().
template <class Op>
class operation {
 public:
  auto call() const { return static_cast<const Op&>(*this)(); }
};

/// The names of all parameters.
namespace argument {

LCI_DEFINE_ARGUMENT(address);
LCI_DEFINE_ARGUMENT(algorithm);
LCI_DEFINE_ARGUMENT(allocator);
LCI_DEFINE_ARGUMENT(allow_done);
LCI_DEFINE_ARGUMENT(allow_posted);
LCI_DEFINE_ARGUMENT(allow_retry);
LCI_DEFINE_ARGUMENT(block);
LCI_DEFINE_ARGUMENT(buffer);
LCI_DEFINE_ARGUMENT(comp);
LCI_DEFINE_ARGUMENT(comp_semantic);
LCI_DEFINE_ARGUMENT(count);
LCI_DEFINE_ARGUMENT(device);
LCI_DEFINE_ARGUMENT(devices);
LCI_DEFINE_ARGUMENT(direction);
LCI_DEFINE_ARGUMENT(do_progress);
LCI_DEFINE_ARGUMENT(dst);
LCI_DEFINE_ARGUMENT(endpoint);
LCI_DEFINE_ARGUMENT(entry_type);
LCI_DEFINE_ARGUMENT(fn);
LCI_DEFINE_ARGUMENT(free_cb);
LCI_DEFINE_ARGUMENT(handler);
LCI_DEFINE_ARGUMENT(imm_data);
LCI_DEFINE_ARGUMENT(item_size);
LCI_DEFINE_ARGUMENT(key);
LCI_DEFINE_ARGUMENT(layout);
LCI_DEFINE_ARGUMENT(local);
LCI_DEFINE_ARGUMENT(local_buffer);
LCI_DEFINE_ARGUMENT(local_comp);
LCI_DEFINE_ARGUMENT(make_key);
LCI_DEFINE_ARGUMENT(matching_engine);
LCI_DEFINE_ARGUMENT(matching_policy);
LCI_DEFINE_ARGUMENT(max_polls);
LCI_DEFINE_ARGUMENT(mr);
LCI_DEFINE_ARGUMENT(n);
LCI_DEFINE_ARGUMENT(name);
LCI_DEFINE_ARGUMENT(net_context);
LCI_DEFINE_ARGUMENT(node);
LCI_DEFINE_ARGUMENT(num_event);
LCI_DEFINE_ARGUMENT(number);
LCI_DEFINE_ARGUMENT(offset);
LCI_DEFINE_ARGUMENT(op);
LCI_DEFINE_ARGUMENT(p_out);
LCI_DEFINE_ARGUMENT(packet);
LCI_DEFINE_ARGUMENT(packet_pool);
LCI_DEFINE_ARGUMENT(plan);
LCI_DEFINE_ARGUMENT(rank);
LCI_DEFINE_ARGUMENT(rcomp);
LCI_DEFINE_ARGUMENT(recv_signal);
LCI_DEFINE_ARGUMENT(recvbuf);
LCI_DEFINE_ARGUMENT(recvcount);
LCI_DEFINE_ARGUMENT(remote);
LCI_DEFINE_ARGUMENT(remote_comp);
LCI_DEFINE_ARGUMENT(remote_disp);
LCI_DEFINE_ARGUMENT(ring_nsteps);
LCI_DEFINE_ARGUMENT(rmr);
LCI_DEFINE_ARGUMENT(root);
LCI_DEFINE_ARGUMENT(runtime);
LCI_DEFINE_ARGUMENT(send_signal);
LCI_DEFINE_ARGUMENT(sendbuf);
LCI_DEFINE_ARGUMENT(signal);
LCI_DEFINE_ARGUMENT(size);
LCI_DEFINE_ARGUMENT(src);
LCI_DEFINE_ARGUMENT(status);
LCI_DEFINE_ARGUMENT(statuses);
LCI_DEFINE_ARGUMENT(tag);
LCI_DEFINE_ARGUMENT(user_context);
LCI_DEFINE_ARGUMENT(value);

}  // namespace argument

/// The parameters that have a default, and the same type in every operation.
namespace option {

/// Which runtime; empty: that of the other resources given, else the global one.
template <class Op>
class runtime_option : public operation<Op>, public argument::runtime_argument<Op, runtime_t> {
 public:
  constexpr runtime_option() : argument::runtime_argument<Op, runtime_t>(runtime_t()) {}
};
/// Through which device; empty: the endpoint's, else the runtime's default device.
LCI_DEFINE_OPTION(device_t, device, device_t());
/// Through which endpoint; empty: the device's default endpoint.
LCI_DEFINE_OPTION(endpoint_t, endpoint, endpoint_t());
/// From which packets; empty: the device's packet pool (for resources: the runtime's default).
LCI_DEFINE_OPTION(packet_pool_t, packet_pool, packet_pool_t());
/// Where sends and receives meet; empty: the runtime's default (collectives have one of their own).
LCI_DEFINE_OPTION(matching_engine_t, matching_engine, matching_engine_t());
/// In which net context; empty: the runtime's default.
LCI_DEFINE_OPTION(net_context_t, net_context, net_context_t());

/// When the operation counts as complete locally.
LCI_DEFINE_OPTION(comp_semantic_t, comp_semantic, comp_semantic_t::memory);
/// Registration of the local buffer.
LCI_DEFINE_OPTION(mr_t, mr, MR_HOST);
/// Where in `rmr` the remote buffer begins, in bytes.
LCI_DEFINE_OPTION(uintptr_t, remote_disp, 0);
/// The memory that holds the remote buffer; RMR_NULL: the other side says where.
LCI_DEFINE_OPTION(rmr_t, rmr, RMR_NULL);
/// Travels with the message; at most the runtime's max_tag, for put with signal its max_imm_tag.
LCI_DEFINE_OPTION(tag_t, tag, 0);
/// The completion object of the other side, as register_rcomp named it there; 0: none.
LCI_DEFINE_OPTION(rcomp_t, remote_comp, 0);
/// Comes back in the status of this side.
LCI_DEFINE_OPTION(void*, user_context, nullptr);
/// What send and receive must have in common.
LCI_DEFINE_OPTION(matching_policy_t, matching_policy, matching_policy_t::rank_tag);
/// false: never answer `done`; an operation that completes at once signals its completion object
/// and answers `posted`.
LCI_DEFINE_OPTION(bool, allow_done, true);
/// false: never answer `posted`; the call makes progress until the operation is complete.
LCI_DEFINE_OPTION(bool, allow_posted, true);
/// false: never answer `retry`; what can't be sent now waits in the device's backlog, and the
/// answer is `posted`.
LCI_DEFINE_OPTION(bool, allow_retry, true);
/// Immediate data of an operation of the network.
LCI_DEFINE_OPTION(net_imm_data_t, imm_data, 0);

/// The name of a resource, for diagnostics. The string must outlive the resource.
LCI_DEFINE_OPTION(const char*, name, DEFAULT_NAME);
/// How the keys of a matching engine are made; null: rank, tag and policy as they are.
LCI_DEFINE_OPTION(matching_make_key_t, make_key, nullptr);
/// Whether a waiting call also makes progress.
LCI_DEFINE_OPTION(bool, do_progress, true);
/// The number a completion object is to be registered under; 0: the next free one.
LCI_DEFINE_OPTION(rcomp_t, rcomp, 0);
/// What is signalled at the end; empty: nothing, or for a collective: it blocks.
LCI_DEFINE_OPTION(comp_t, comp, COMP_NULL);
/// What a node of a graph is about, and how it is freed with the graph.
LCI_DEFINE_OPTION(void*, value, nullptr);
LCI_DEFINE_OPTION(graph_node_free_cb_t, free_cb, nullptr);
/// What a node of a graph completes with.
LCI_DEFINE_OPTION(status_t, status, status_t());

/// Overrides of global default attributes.
LCI_DEFINE_OVERRIDE(attr_cq_type_t, cq_type);
LCI_DEFINE_OVERRIDE(int, default_length);
LCI_DEFINE_OVERRIDE(std::string, device_name);
LCI_DEFINE_OVERRIDE(bool, lend_am);
LCI_DEFINE_OVERRIDE(int, signal_nbits_event);
LCI_DEFINE_OVERRIDE(int, threshold);
LCI_DEFINE_OVERRIDE(bool, zero_copy_am);

/// In how many steps a ring algorithm sends a buffer on.
LCI_DEFINE_OPTION(int, ring_nsteps, RING_NSTEPS_DEFAULT);

/// The settable attributes of a resource, and its name and user_context, as options of the
/// operation that allocates it. resolve() gives the defaults with what was set here.
#define LCI_ATTR_SETTER(type_, name_, default_, doc_) LCI_DEFINE_SETTER(type_, name_)
#define LCI_ATTR_OVERRIDE(type_, name_, default_, doc_) option_t<type_> name_##_value_;
#define LCI_ATTR_RESOLVE(type_, name_, default_, doc_) \
  attr.name_ = name_##_value_.get_value_or(defaults.name_);
#define LCI_ATTR_OPTIONS(resource_, RESOURCE_)                                              \
  template <class Op>                                                                       \
  class resource_##_attr_options : public name_option<Op>, public user_context_option<Op> { \
   public:                                                                                  \
    LCI_##RESOURCE_##_ATTRS(LCI_ATTR_SETTER) resource_##_attr_t                             \
        resolve([[maybe_unused]] const global_attr_t& defaults) const {                     \
      resource_##_attr_t attr;                                                              \
      LCI_##RESOURCE_##_ATTRS(LCI_ATTR_RESOLVE) attr.name = this->get_name();               \
      attr.user_context = this->get_user_context();                                         \
      return attr;                                                                          \
    }                                                                                       \
                                                                                            \
   private:                                                                                 \
    LCI_##RESOURCE_##_ATTRS(LCI_ATTR_OVERRIDE)                                              \
  };
LCI_RESOURCES(LCI_ATTR_OPTIONS)
#undef LCI_ATTR_OPTIONS
#undef LCI_ATTR_RESOLVE
#undef LCI_ATTR_OVERRIDE
#undef LCI_ATTR_SETTER

}  // namespace option
}  // namespace lci

#pragma GCC visibility pop

#endif  // LCI_API_OPTION_HPP_
