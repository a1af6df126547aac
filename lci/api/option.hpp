// The named-parameter idiom (SC'25 paper, section 4.1): every operation `f` also exists as a
// function object `f_x` with one setter per option, in any order, and operator() to run it.
//
// Each option is one small class, defined here once, that an operation inherits. An `_x` object can
// be kept, copied and called again.
#ifndef LCI_API_OPTION_HPP_
#define LCI_API_OPTION_HPP_

#include <cstdint>
#include <optional>

#include "lci/api/resource.hpp"
#include "lci/api/types.hpp"

// Defines the class `name_option<Op>`: a setter `name(value)` that returns the operation, and a
// getter `get_name()`.
#define LCI_DEFINE_OPTION(type_, name_, default_)        \
  template <class Op>                                    \
  class name_##_option {                                 \
   public:                                               \
    Op& name_(type_ value) {                             \
      name_##_value_ = value;                            \
      return static_cast<Op&>(*this);                    \
    }                                                    \
    type_ get_##name_() const { return name_##_value_; } \
                                                         \
   private:                                              \
    type_ name_##_value_ = default_;                     \
  }

namespace lci {

// The number of steps of a ring algorithm that stands for get_rank_n() - 1.
constexpr int RING_NSTEPS_DEFAULT = 0;

using graph_node_free_cb_t = void (*)(void* value);

namespace option {

// ---- where ------------------------------------------------------------------------------------

// Which runtime; empty: that of the other resources given, else the global one.
LCI_DEFINE_OPTION(runtime_t, runtime, runtime_t());
// Through which device; empty: the endpoint's, else the runtime's default device.
LCI_DEFINE_OPTION(device_t, device, device_t());
// Through which endpoint; empty: the device's default endpoint.
LCI_DEFINE_OPTION(endpoint_t, endpoint, endpoint_t());
// From which packets; empty: the device's packet pool (for resources: the runtime's default).
LCI_DEFINE_OPTION(packet_pool_t, packet_pool, packet_pool_t());
// Where sends and receives meet; empty: the runtime's default (collectives have one of their own).
LCI_DEFINE_OPTION(matching_engine_t, matching_engine, matching_engine_t());
// In which net context; empty: the runtime's default.
LCI_DEFINE_OPTION(net_context_t, net_context, net_context_t());

// ---- of a post ----------------------------------------------------------------------------------

// When the operation counts as complete locally.
LCI_DEFINE_OPTION(comp_semantic_t, comp_semantic, comp_semantic_t::memory);
// Registration of the local buffer.
LCI_DEFINE_OPTION(mr_t, mr, MR_HOST);
// Where in `rmr` the remote buffer begins, in bytes.
LCI_DEFINE_OPTION(uintptr_t, remote_disp, 0);
// The memory that holds the remote buffer; RMR_NULL: the other side says where.
LCI_DEFINE_OPTION(rmr_t, rmr, RMR_NULL);
// Travels with the message; at most the runtime's max_tag, for put with signal its max_imm_tag.
LCI_DEFINE_OPTION(tag_t, tag, 0);
// The completion object of the other side, as register_rcomp named it there; 0: none.
LCI_DEFINE_OPTION(rcomp_t, remote_comp, 0);
// Comes back in the status of this side.
LCI_DEFINE_OPTION(void*, user_context, nullptr);
// What send and receive must have in common.
LCI_DEFINE_OPTION(matching_policy_t, matching_policy, matching_policy_t::rank_tag);
// false: never answer `done`; an operation that completes at once signals its completion object and
// answers `posted`.
LCI_DEFINE_OPTION(bool, allow_done, true);
// false: never answer `posted`; the call makes progress until the operation is complete.
LCI_DEFINE_OPTION(bool, allow_posted, true);
// false: never answer `retry`; what can't be sent now waits in the device's backlog, and the answer
// is `posted`.
LCI_DEFINE_OPTION(bool, allow_retry, true);
// Immediate data of an operation of the network.
LCI_DEFINE_OPTION(net_imm_data_t, imm_data, 0);

// ---- of resources and completion objects --------------------------------------------------------

// The name of a resource, for diagnostics. The string must outlive the resource.
LCI_DEFINE_OPTION(const char*, name, DEFAULT_NAME);
// How the keys of a matching engine are made; null: rank, tag and policy as they are.
LCI_DEFINE_OPTION(matching_make_key_t, make_key, nullptr);
// Whether a waiting call also makes progress.
LCI_DEFINE_OPTION(bool, do_progress, true);
// The number a completion object is to be registered under; 0: the next free one.
LCI_DEFINE_OPTION(rcomp_t, rcomp, 0);
// What is signalled at the end; empty: nothing, or for a collective: it blocks.
LCI_DEFINE_OPTION(comp_t, comp, COMP_NULL);
// What a node of a graph is about, and how it is freed with the graph.
LCI_DEFINE_OPTION(void*, value, nullptr);
LCI_DEFINE_OPTION(graph_node_free_cb_t, free_cb, nullptr);
// What a node of a graph completes with.
LCI_DEFINE_OPTION(status_t, status, status_t());

// ---- of collectives
// -------------------------------------------------------------------------------

// In how many steps a ring algorithm sends a buffer on.
LCI_DEFINE_OPTION(int, ring_nsteps, RING_NSTEPS_DEFAULT);

// ---- attributes
// -----------------------------------------------------------------------------------

// The settable attributes of a resource, and its name and user_context, as options of the operation
// that allocates it. resolve() gives the defaults with what was set here.
#define LCI_ATTR_SETTER(type_, name_, default_, doc_) \
  Op& name_(type_ value) {                            \
    name_##_value_ = value;                           \
    return static_cast<Op&>(*this);                   \
  }
#define LCI_ATTR_OPTIONAL(type_, name_, default_, doc_) std::optional<type_> name_##_value_;
#define LCI_ATTR_RESOLVE(type_, name_, default_, doc_) \
  attr.name_ = name_##_value_.value_or(defaults.name_);
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
    LCI_##RESOURCE_##_ATTRS(LCI_ATTR_OPTIONAL)                                              \
  };
LCI_RESOURCES(LCI_ATTR_OPTIONS)
#undef LCI_ATTR_OPTIONS
#undef LCI_ATTR_RESOLVE
#undef LCI_ATTR_OPTIONAL
#undef LCI_ATTR_SETTER

}  // namespace option
}  // namespace lci

#endif  // LCI_API_OPTION_HPP_
