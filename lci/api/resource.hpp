// Handles of the resources: one pointer wide, trivially copyable, comparable. A handle does not
// own: who allocated a resource frees it, and `free_x(&handle)` empties that one handle.
#ifndef LCI_API_RESOURCE_HPP_
#define LCI_API_RESOURCE_HPP_

#include "lci/api/attr.hpp"
#include "lci/api/types.hpp"

namespace lci {

// What all handles have in common.
template <class Impl>
class resource_handle {
 public:
  constexpr resource_handle() = default;
  constexpr resource_handle(Impl* impl) : impl_(impl) {}  // NOLINT: implicit by interface

  constexpr bool is_empty() const { return impl_ == nullptr; }
  constexpr Impl* get_impl() const { return impl_; }

  friend constexpr bool operator==(resource_handle a, resource_handle b) {
    return a.impl_ == b.impl_;
  }
  friend constexpr bool operator!=(resource_handle a, resource_handle b) { return !(a == b); }

 private:
  Impl* impl_ = nullptr;
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
  class resource_##_impl_t;                                                   \
  class resource_##_t : public resource_handle<resource_##_impl_t> {          \
   public:                                                                    \
    using resource_handle::resource_handle;                                   \
    LCI_##RESOURCE_##_ATTRS(LCI_ATTR_GETTER) LCI_##RESOURCE_                  \
        ##_READONLY_ATTRS(LCI_ATTR_GETTER) const char* get_attr_name() const; \
    void* get_attr_user_context() const;                                      \
  };
LCI_RESOURCES(LCI_RESOURCE_HANDLE)
#undef LCI_RESOURCE_HANDLE
#undef LCI_ATTR_GETTER

// As local completion object: there is none. COMP_NULL: the post is `done` or it throws.
// COMP_NULL_RETRY: it may also answer `retry`. Neither ever answers `posted`.
inline const comp_t COMP_NULL{};
extern const comp_t COMP_NULL_RETRY;
// Their old spellings.
inline const comp_t& COMP_NULL_EXPECT_DONE = COMP_NULL;
extern const comp_t& COMP_NULL_EXPECT_DONE_OR_RETRY;

// As registration of a local buffer: none. The library registers it for the operation if the
// network needs that. MR_DEVICE: none either, and it is an accelerator's memory; only networks that
// can reach it take it. MR_UNKNOWN: find out which of the two.
inline const mr_t MR_HOST{};
extern const mr_t MR_DEVICE;
extern const mr_t MR_UNKNOWN;

// Registered memory as other ranks name it. Trivially copyable: send it to them as bytes. Valid
// until the mr_t is deregistered.
struct rmr_t {
  uint64_t base = 0;  // the network's
  uint64_t key = 0;   // likewise; 0: empty
  uint64_t size = 0;  // bytes

  constexpr bool is_empty() const { return key == 0; }
};
inline constexpr rmr_t RMR_NULL{};

}  // namespace lci

#endif  // LCI_API_RESOURCE_HPP_
