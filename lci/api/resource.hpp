// Handles of the resources: one pointer wide, trivially copyable, comparable. A handle does not
// own: who allocated a resource frees it, and `free_x(&handle)` empties that one handle.
#ifndef LCI_API_RESOURCE_HPP_
#define LCI_API_RESOURCE_HPP_

#include <cstdint>
#include <stdexcept>
#include <type_traits>

#include "lci/api/attr.hpp"
#include "lci/api/types.hpp"

// The objects behind the handles are the library's own. Programs make completion objects of their
// own kinds, so that class is public.
#pragma GCC visibility push(default)
namespace lci {
class comp_impl_t;
}  // namespace lci
#pragma GCC visibility pop

namespace lci {
#define LCI_FORWARD_IMPL(resource_, RESOURCE_) class resource_##_impl_t;
LCI_RESOURCES(LCI_FORWARD_IMPL)
#undef LCI_FORWARD_IMPL
}  // namespace lci

#pragma GCC visibility push(default)

namespace lci {

/// What all handles have in common.
template <class Impl>
class resource_handle {
 public:
  constexpr resource_handle() = default;
  /// From a pointer to the implementation, or to a class derived from it.
  template <class T, class = std::enable_if_t<std::is_convertible<T*, Impl*>::value>>
  constexpr resource_handle(T* impl) : p_impl(impl) {}  // NOLINT: implicit by interface
  /// From what get_impl() returned, as programs that keep handles in C structures do.
  constexpr resource_handle(void* impl)  // NOLINT: implicit by interface
      : p_impl(static_cast<Impl*>(impl)) {}

  constexpr bool is_empty() const { return p_impl == nullptr; }
  /// The implementation. Throws std::runtime_error if the handle is null.
  constexpr Impl* get_impl() const {
    if (p_impl == nullptr) throw std::runtime_error("lci: get_impl: the handle is empty");
    return p_impl;
  }
  constexpr void set_impl(Impl* impl) { p_impl = impl; }

  friend constexpr bool operator==(resource_handle a, resource_handle b) {
    return a.p_impl == b.p_impl;
  }
  friend constexpr bool operator!=(resource_handle a, resource_handle b) { return !(a == b); }

  /// The implementation; null: the handle is empty.
  Impl* p_impl = nullptr;
};

// runtime_t          everything that belongs to one use of the library: devices, registered
//                    completion objects, default settings; independent of every other runtime
// net_context_t      one attachment to one network
// device_t           a complete set of network resources of a net context. Threads that use
// different
//                    devices do not wait for each other. Device number uid of a rank exchanges
//                    messages with device number uid of the others
// endpoint_t         a way into a device for those who post. Threads that post through different
//                    endpoints of a device do not wait for each other where the network has
//                    resources of their own for them
// packet_pool_t      memory of fixed pieces (packets) that the network can send from and receive to
// matching_engine_t  where sends and receives find each other
// comp_t             a completion object: where the end of an operation is reported
// mr_t               memory that other ranks can put to and get from; see rmr_t
// plan_t             puts and gets between blocks, recorded to be started together, often
#define LCI_ATTR_GETTER(type_, name_, default_, doc_) type_ get_attr_##name_() const;
#define LCI_RESOURCE_HANDLE(resource_, RESOURCE_)                             \
  class resource_##_t : public resource_handle<resource_##_impl_t> {          \
   public:                                                                    \
    using attr_t = resource_##_attr_t;                                        \
    using resource_handle::resource_handle;                                   \
    LCI_##RESOURCE_##_ATTRS(LCI_ATTR_GETTER) LCI_##RESOURCE_                  \
        ##_READONLY_ATTRS(LCI_ATTR_GETTER) const char* get_attr_name() const; \
    void* get_attr_user_context() const;                                      \
    attr_t get_attr() const;                                                  \
    LCI_##RESOURCE_##_HANDLE_EXTRAS                                           \
  };
// The special values below name no object: a handle that holds one is empty.
#define LCI_RUNTIME_HANDLE_EXTRAS
#define LCI_PACKET_POOL_HANDLE_EXTRAS
#define LCI_MATCHING_ENGINE_HANDLE_EXTRAS
#define LCI_COMP_HANDLE_EXTRAS                                            \
  constexpr bool is_empty() const {                                       \
    return p_impl == nullptr || reinterpret_cast<uintptr_t>(p_impl) <= 1; \
  }
#define LCI_NET_CONTEXT_HANDLE_EXTRAS
#define LCI_DEVICE_HANDLE_EXTRAS
#define LCI_MR_HANDLE_EXTRAS                                              \
  constexpr bool is_empty() const {                                       \
    return p_impl == nullptr || reinterpret_cast<uintptr_t>(p_impl) <= 2; \
  }
#define LCI_PLAN_HANDLE_EXTRAS
#define LCI_ENDPOINT_HANDLE_EXTRAS
LCI_RESOURCES(LCI_RESOURCE_HANDLE)
#undef LCI_RUNTIME_HANDLE_EXTRAS
#undef LCI_PACKET_POOL_HANDLE_EXTRAS
#undef LCI_MATCHING_ENGINE_HANDLE_EXTRAS
#undef LCI_COMP_HANDLE_EXTRAS
#undef LCI_NET_CONTEXT_HANDLE_EXTRAS
#undef LCI_DEVICE_HANDLE_EXTRAS
#undef LCI_MR_HANDLE_EXTRAS
#undef LCI_PLAN_HANDLE_EXTRAS
#undef LCI_ENDPOINT_HANDLE_EXTRAS
#undef LCI_RESOURCE_HANDLE
#undef LCI_ATTR_GETTER

/// As local completion object: none. COMP_NULL: the post is `done` or it throws. COMP_NULL_RETRY:
/// it may also answer `retry`. Neither ever answers `posted`.
inline const comp_t COMP_NULL{};
inline const comp_t COMP_NULL_RETRY(reinterpret_cast<void*>(uintptr_t{1}));
/// Their old spellings.
inline const comp_t COMP_NULL_EXPECT_DONE = COMP_NULL;
inline const comp_t COMP_NULL_EXPECT_DONE_OR_RETRY(reinterpret_cast<void*>(uintptr_t{1}));

/// As registration of a local buffer: none. The library registers the buffer for the operation if
/// the network needs that. MR_DEVICE: none either, and the buffer is an accelerator's memory; only
/// networks that can reach that memory take it. MR_UNKNOWN: the library finds out which of the two.
inline const mr_t MR_HOST{};
inline const mr_t MR_DEVICE(reinterpret_cast<void*>(uintptr_t{1}));
inline const mr_t MR_UNKNOWN(reinterpret_cast<void*>(uintptr_t{2}));

/// Registered memory as other ranks name it. Trivially copyable: send it to them as bytes. Valid
/// until the mr_t is deregistered. A put or get to address `a` of it has
/// `remote_disp = a - rmr.base`.
struct rmr_t {
  uintptr_t base = 0;        ///< address of the registered memory, in the rank that registered it
  uintptr_t mr_base = 0;     ///< opaque: where the memory begins for the network, and its size
  uint64_t opaque_rkey = 0;  ///< opaque: names the registration to the network; 0: empty

  constexpr bool is_empty() const { return opaque_rkey == 0; }
};
static_assert(sizeof(rmr_t) == 24, "programs reserve as much in their own messages");
inline constexpr rmr_t RMR_NULL{};

}  // namespace lci

#pragma GCC visibility pop

#endif  // LCI_API_RESOURCE_HPP_
