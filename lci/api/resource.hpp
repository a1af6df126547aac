// Handles of the resources: one pointer wide, trivially copyable, comparable. A handle does not
// own: who allocated a resource frees it, and `free_x(&handle)` empties that one handle.
#ifndef LCI_API_RESOURCE_HPP_
#define LCI_API_RESOURCE_HPP_

#include "lci/api/attr.hpp"
#include "lci/api/types.hpp"

namespace lci {

class runtime_impl_t;
class device_impl_t;
class comp_impl_t;

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

// Everything that belongs to one use of the library: devices, registered completion objects,
// default settings. Independent of every other runtime of the process.
class runtime_t : public resource_handle<runtime_impl_t> {
 public:
  using resource_handle::resource_handle;
  LCI_RUNTIME_ATTRS(LCI_ATTR_GETTER)
  LCI_RUNTIME_READONLY_ATTRS(LCI_ATTR_GETTER)
  const char* get_attr_name() const;
  void* get_attr_user_context() const;
};

// A complete set of network resources. Threads that use different devices do not wait for each
// other. Device number uid of a rank exchanges messages with device number uid of the others.
class device_t : public resource_handle<device_impl_t> {
 public:
  using resource_handle::resource_handle;
  LCI_DEVICE_ATTRS(LCI_ATTR_GETTER)
  LCI_DEVICE_READONLY_ATTRS(LCI_ATTR_GETTER)
  const char* get_attr_name() const;
  void* get_attr_user_context() const;
};

// A completion object: where the end of an operation is reported.
class comp_t : public resource_handle<comp_impl_t> {
 public:
  using resource_handle::resource_handle;
  LCI_COMP_ATTRS(LCI_ATTR_GETTER)
  LCI_COMP_READONLY_ATTRS(LCI_ATTR_GETTER)
  const char* get_attr_name() const;
  void* get_attr_user_context() const;
};

}  // namespace lci

#endif  // LCI_API_RESOURCE_HPP_
