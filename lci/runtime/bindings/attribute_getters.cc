// The getters of the handles.
#include <stdexcept>

#include "lci/api/attr.hpp"
#include "lci/api/resource.hpp"
#include "lci/base/strings.h"
#include "lci/runtime/blocks/plan.h"
#include "lci/runtime/collective/persistent.h"
#include "lci/runtime/collective/thread_team.h"
#include "lci/runtime/device/device.h"
#include "lci/runtime/instance/group.h"
#include "lci/runtime/instance/runtime.h"

namespace lci {
namespace {
template <class Handle>
auto& impl_of(const Handle& handle, const char* attribute) {
  if (handle.is_empty()) {
    throw std::invalid_argument(base::StrCat("lci: ", attribute, ": the handle is empty"));
  }
  return *handle.p_impl;
}
const runtime_attr_t& attributes_of(const runtime_impl_t& impl) { return impl.attr(); }
template <class Impl>
const auto& attributes_of(const Impl& impl) {
  return impl.attr;
}
}  // namespace

#define LCI_DEFINE_GETTER(handle_, type_, name_)                    \
  type_ handle_::get_attr_##name_() const {                         \
    return attributes_of(impl_of(*this, "get_attr_" #name_)).name_; \
  }

#define LCI_GETTER_OF_runtime(type_, name_, default_, doc_) \
  LCI_DEFINE_GETTER(runtime_t, type_, name_)
#define LCI_GETTER_OF_packet_pool(type_, name_, default_, doc_) \
  LCI_DEFINE_GETTER(packet_pool_t, type_, name_)
#define LCI_GETTER_OF_matching_engine(type_, name_, default_, doc_) \
  LCI_DEFINE_GETTER(matching_engine_t, type_, name_)
#define LCI_GETTER_OF_comp(type_, name_, default_, doc_) LCI_DEFINE_GETTER(comp_t, type_, name_)
#define LCI_GETTER_OF_net_context(type_, name_, default_, doc_) \
  LCI_DEFINE_GETTER(net_context_t, type_, name_)
#define LCI_GETTER_OF_device(type_, name_, default_, doc_) LCI_DEFINE_GETTER(device_t, type_, name_)
#define LCI_GETTER_OF_mr(type_, name_, default_, doc_) LCI_DEFINE_GETTER(mr_t, type_, name_)
#define LCI_GETTER_OF_plan(type_, name_, default_, doc_) LCI_DEFINE_GETTER(plan_t, type_, name_)
#define LCI_GETTER_OF_group(type_, name_, default_, doc_) LCI_DEFINE_GETTER(group_t, type_, name_)
#define LCI_GETTER_OF_persistent_coll(type_, name_, default_, doc_) \
  LCI_DEFINE_GETTER(persistent_coll_t, type_, name_)
#define LCI_GETTER_OF_thread_team(type_, name_, default_, doc_) \
  LCI_DEFINE_GETTER(thread_team_t, type_, name_)
#define LCI_GETTER_OF_endpoint(type_, name_, default_, doc_) \
  LCI_DEFINE_GETTER(endpoint_t, type_, name_)

#define LCI_DEFINE_GETTERS(resource_, RESOURCE_)                       \
  LCI_##RESOURCE_##_ATTRS(LCI_GETTER_OF_##resource_)                   \
      LCI_##RESOURCE_##_READONLY_ATTRS(LCI_GETTER_OF_##resource_)      \
          LCI_DEFINE_GETTER(resource_##_t, const char*, name)          \
              LCI_DEFINE_GETTER(resource_##_t, void*, user_context)    \
                  resource_##_attr_t resource_##_t::get_attr() const { \
    return attributes_of(impl_of(*this, "get_attr"));                  \
  }
LCI_RESOURCES(LCI_DEFINE_GETTERS)

}  // namespace lci
