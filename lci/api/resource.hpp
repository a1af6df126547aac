/// @file
/// Handles of the resources.

/// @defgroup lci_resources Resources
/// Handles of the resources: one pointer wide, trivially copyable, comparable. (SC'25 paper,
/// section 4.2.3)
#ifndef LCI_API_RESOURCE_HPP_
#define LCI_API_RESOURCE_HPP_

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <type_traits>

#include "lci/api/attr.hpp"
#include "lci/api/types.hpp"

// The objects behind the handles are internal. Programs derive completion objects of their own from
// comp_impl_t, so that class is public.
#pragma GCC visibility push(default)
namespace lci {
class comp_impl_t;
}  // namespace lci
#pragma GCC visibility pop

/// @cond INTERNAL
namespace lci {
#define LCI_FORWARD_IMPL(resource_, RESOURCE_) class resource_##_impl_t;
LCI_RESOURCES(LCI_FORWARD_IMPL)
#undef LCI_FORWARD_IMPL

// How many addresses from 1 on are special values of a handle, such as COMP_NULL_RETRY and
// MR_DEVICE, and refer to no object.
template <class Impl>
inline constexpr uintptr_t special_values = 0;
template <>
inline constexpr uintptr_t special_values<comp_impl_t> = 1;
template <>
inline constexpr uintptr_t special_values<mr_impl_t> = 2;
template <>
inline constexpr uintptr_t special_values<group_impl_t> = 1;
}  // namespace lci
/// @endcond

#pragma GCC visibility push(default)

namespace lci {

/// @addtogroup lci_resources
/// @{

/// The base of all handles. A handle refers to a resource and does not own it: the program frees
/// each resource that it has allocated, and `free_x(&handle)` empties that one handle; copies of
/// the handle stay as they are. An operation on a handle whose resource has been freed throws
/// std::invalid_argument where the library still recognizes it. The getters of attributes throw
/// std::invalid_argument if the handle is empty.
template <class Impl>
class resource_handle {
 public:
  /// Makes an empty handle.
  constexpr resource_handle() = default;
  /// Makes a handle from a pointer to the implementation, or to a class derived from it.
  template <class T, class = std::enable_if_t<std::is_convertible<T*, Impl*>::value>>
  constexpr resource_handle(T* impl) : p_impl(impl) {}  // NOLINT: implicit by interface
  /// Makes a handle from the result of get_impl(), for programs that keep handles in C structures.
  constexpr resource_handle(void* impl)  // NOLINT: implicit by interface
      : p_impl(static_cast<Impl*>(impl)) {}
  /// Any other pointer is a mistake, such as the address of a handle or of a status.
  template <
      class T,
      class = std::enable_if_t<!std::is_convertible<T*, Impl*>::value && !std::is_void<T>::value>,
      class = void>
  constexpr resource_handle(T* other) = delete;

  /// Whether the handle refers to no resource. The special values of comp_t, mr_t and group_t refer
  /// to none.
  constexpr bool is_empty() const {
    return p_impl == nullptr || (special_values<Impl> != 0 &&
                                 reinterpret_cast<uintptr_t>(p_impl) <= special_values<Impl>);
  }
  /// Returns the implementation. Throws std::runtime_error if it is null. In a program that is
  /// compiled without exceptions, it ends the program instead.
  constexpr Impl* get_impl() const {
    if (p_impl == nullptr) {
#ifdef __cpp_exceptions
      throw std::runtime_error("lci: get_impl: the handle is empty");
#else
      std::terminate();
#endif
    }
    return p_impl;
  }
  /// Makes the handle refer to `impl`.
  constexpr void set_impl(Impl* impl) { p_impl = impl; }

  /// Whether both handles refer to the same resource.
  friend constexpr bool operator==(resource_handle a, resource_handle b) {
    return a.p_impl == b.p_impl;
  }
  /// Whether the handles refer to different resources.
  friend constexpr bool operator!=(resource_handle a, resource_handle b) { return !(a == b); }

  /// The implementation; null if the handle is empty.
  Impl* p_impl = nullptr;
};

/// @class lci::runtime_t
/// A runtime: everything that belongs to one use of the library: devices, registered completion
/// objects, default settings. Runtimes are independent of each other. (SC'25 paper, section
/// 4.2.2)

/// @class lci::net_context_t
/// A net context: one attachment of this rank to one network.

/// @class lci::device_t
/// A device: a complete set of network resources of a net context. Threads that use different
/// devices do not wait for each other. Device number `uid` of a rank exchanges messages with device
/// number `uid` of the other ranks. (SC'25 paper, section 4.2.3)

/// @class lci::endpoint_t
/// An endpoint: a path by which threads post to a device. Threads that post through different
/// endpoints of a device do not wait for each other where the network has separate resources for
/// them.

/// @class lci::packet_pool_t
/// A packet pool: memory in pieces of fixed size (packets), from which the network can send and
/// into which it can receive. (SC'25 paper, section 5.1.2)

/// @class lci::matching_engine_t
/// A matching engine: it pairs sends with receives. (SC'25 paper, section 5.1.3)

/// @class lci::comp_t
/// A completion object: the end of an operation is reported to it. (SC'25 paper, section 4.2.6)

/// @class lci::mr_t
/// Registered memory: other ranks can put to it and get from it; see rmr_t.

/// @class lci::group_t
/// A group: some ranks of a runtime, which call collective operations among themselves. The handle
/// that is made without an argument stands for all ranks; see GROUP_NULL.

/// @class lci::thread_team_t
/// A thread team: threads of all ranks of a group, which call collective operations each by itself.

/// @class lci::plan_t
/// A plan: puts and gets between blocks, recorded to be started together and repeatedly.

/// @class lci::persistent_coll_t
/// A persistent collective: a collective operation, recorded to be started repeatedly.

// In the reference, the description of an attribute is that of its getter.
#define LCI_ATTR_GETTER(type_, name_, default_, doc_) /** doc_ */ type_ get_attr_##name_() const;
// clang-format off
#define LCI_RESOURCE_HANDLE(resource_, RESOURCE_)                                                  \
  class resource_##_t : public resource_handle<resource_##_impl_t> {                               \
   public:                                                                                         \
    /** The attributes of such a resource. */                                                      \
    using attr_t = resource_##_attr_t;                                                             \
    using resource_handle::resource_handle;                                                        \
    LCI_##RESOURCE_##_ATTRS(LCI_ATTR_GETTER)                                                       \
    LCI_##RESOURCE_##_READONLY_ATTRS(LCI_ATTR_GETTER)                                              \
    /** Returns the name given at the allocation. */                                               \
    const char* get_attr_name() const;                                                             \
    /** Returns the user context given at the allocation. */                                       \
    void* get_attr_user_context() const;                                                           \
    /** Returns all attributes. */                                                                 \
    attr_t get_attr() const;                                                                       \
  };
// clang-format on
LCI_RESOURCES(LCI_RESOURCE_HANDLE)
#undef LCI_RESOURCE_HANDLE
#undef LCI_ATTR_GETTER

/// @}

/// @addtogroup lci_completion
/// @{

/// As a local completion object: none. The post waits until the operation is complete: it returns
/// `done`, or throws.
inline const comp_t COMP_NULL{};
/// As a local completion object: none. The post returns `retry` if it can't begin the operation.
/// Otherwise it waits until the operation is complete: it returns `done`, or throws.
inline const comp_t COMP_NULL_RETRY(reinterpret_cast<void*>(uintptr_t{1}));
/// The earlier name of COMP_NULL.
inline const comp_t COMP_NULL_EXPECT_DONE = COMP_NULL;
/// The earlier name of COMP_NULL_RETRY.
inline const comp_t COMP_NULL_EXPECT_DONE_OR_RETRY(reinterpret_cast<void*>(uintptr_t{1}));

/// @}

/// @addtogroup lci_groups
/// @{

/// What alloc_group and split_group give a rank that is to be in no group. It refers to no group,
/// and an operation that gets it as its option `group` throws std::invalid_argument.
inline const group_t GROUP_NULL(reinterpret_cast<void*>(uintptr_t{1}));

/// @}

/// @addtogroup lci_memory
/// @{

/// As the registration of a local buffer: none. The library registers the buffer for the operation
/// if the network needs that.
inline const mr_t MR_HOST{};
/// As the registration of a local buffer: none, and the buffer is memory of an accelerator. Only
/// networks that can reach that memory accept it, and no backend of this library does: the post
/// throws std::invalid_argument.
inline const mr_t MR_DEVICE(reinterpret_cast<void*>(uintptr_t{1}));
/// As the registration of a local buffer: none, and the program does not know whether the buffer is
/// memory of the host or of an accelerator. This library treats it as MR_HOST.
inline const mr_t MR_UNKNOWN(reinterpret_cast<void*>(uintptr_t{2}));

/// Registered memory as other ranks name it. Trivially copyable: the program sends it to them as
/// bytes. Valid until the mr_t is deregistered. A put or get to address `a` of the memory has
/// `remote_disp = a - rmr.base`.
struct rmr_t {
  uintptr_t base = 0;     ///< Address of the registered memory in the rank that registered it.
  uintptr_t mr_base = 0;  ///< Opaque: the network's name for the start of the memory, and its size.
  uint64_t opaque_rkey = 0;  ///< Opaque: the network's name for the registration; 0 if empty.

  /// Whether the value names no memory.
  constexpr bool is_empty() const { return opaque_rkey == 0; }
};
static_assert(sizeof(rmr_t) == 24, "programs reserve as much in their own messages");
/// Names no memory.
inline constexpr rmr_t RMR_NULL{};

/// @}

}  // namespace lci

#pragma GCC visibility pop

#endif  // LCI_API_RESOURCE_HPP_
