// The getters of the handles.

#include "lci/api/attr.hpp"
#include "lci/api/resource.hpp"
#include "lci/runtime/blocks/plan.h"
#include "lci/runtime/collective/persistent.h"
#include "lci/runtime/collective/thread_team.h"
#include "lci/runtime/core/throw.h"
#include "lci/runtime/device/device.h"
#include "lci/runtime/instance/group.h"
#include "lci/runtime/instance/runtime.h"

namespace lci {
namespace {
template <class Handle>
auto& impl_of(const Handle& handle, const char* attribute) {
  if (handle.is_empty()) rt::throw_invalid_argument(attribute, ": the handle is empty");
  return *handle.p_impl;
}
const runtime_attr_t& attributes_of(const runtime_impl_t& impl) { return impl.attr(); }
template <class Impl>
const auto& attributes_of(const Impl& impl) {
  return impl.attr;
}
}  // namespace

#define LCI_DEFINE_GETTER(handle_, type_, name_, ...)               \
  type_ handle_::get_attr_##name_() const {                         \
    return attributes_of(impl_of(*this, "get_attr_" #name_)).name_; \
  }

#define LCI_GETTER_OF_runtime(...) LCI_DEFINE_GETTER(runtime_t, __VA_ARGS__)
#define LCI_GETTER_OF_packet_pool(...) LCI_DEFINE_GETTER(packet_pool_t, __VA_ARGS__)
#define LCI_GETTER_OF_matching_engine(...) LCI_DEFINE_GETTER(matching_engine_t, __VA_ARGS__)
#define LCI_GETTER_OF_comp(...) LCI_DEFINE_GETTER(comp_t, __VA_ARGS__)
#define LCI_GETTER_OF_net_context(...) LCI_DEFINE_GETTER(net_context_t, __VA_ARGS__)
#define LCI_GETTER_OF_device(...) LCI_DEFINE_GETTER(device_t, __VA_ARGS__)
#define LCI_GETTER_OF_mr(...) LCI_DEFINE_GETTER(mr_t, __VA_ARGS__)
#define LCI_GETTER_OF_plan(...) LCI_DEFINE_GETTER(plan_t, __VA_ARGS__)
#define LCI_GETTER_OF_group(...) LCI_DEFINE_GETTER(group_t, __VA_ARGS__)
#define LCI_GETTER_OF_persistent_coll(...) LCI_DEFINE_GETTER(persistent_coll_t, __VA_ARGS__)
#define LCI_GETTER_OF_thread_team(...) LCI_DEFINE_GETTER(thread_team_t, __VA_ARGS__)
#define LCI_GETTER_OF_endpoint(...) LCI_DEFINE_GETTER(endpoint_t, __VA_ARGS__)

#define LCI_DEFINE_GETTERS(resource_, RESOURCE_)                       \
  LCI_##RESOURCE_##_ATTRS(LCI_GETTER_OF_##resource_)                   \
      LCI_##RESOURCE_##_READONLY_ATTRS(LCI_GETTER_OF_##resource_)      \
          LCI_DEFINE_GETTER(resource_##_t, const char*, name, )        \
              LCI_DEFINE_GETTER(resource_##_t, void*, user_context, )  \
                  resource_##_attr_t resource_##_t::get_attr() const { \
    return attributes_of(impl_of(*this, "get_attr"));                  \
  }
LCI_RESOURCES(LCI_DEFINE_GETTERS)

}  // namespace lci
