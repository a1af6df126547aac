// Handles: one pointer wide, made from one, compared, copied as bytes.
#include "surface.h"

namespace {

// Whether get_impl of an empty handle throws.
template <class Handle>
bool empty_one_has_no_impl() {
  try {
    (void)Handle().get_impl();
    return false;
  } catch (const std::runtime_error&) {
    return true;
  }
}

// An address that no resource has.
void* some_address() {
  static int place[4];
  return &place[0];
}

}  // namespace

#define HANDLE(resource_)                                                                         \
  do {                                                                                            \
    using handle = lci::resource_##_t;                                                            \
    using impl = lci::resource_##_impl_t;                                                         \
    CHECK_OF(resource_, sizeof(handle) == sizeof(void*));                                         \
    CHECK_OF(resource_, std::is_trivially_copyable_v<handle>);                                    \
    CHECK_OF(resource_, std::is_standard_layout_v<handle>);                                       \
    CHECK_OF(resource_, std::is_convertible_v<void*, handle>);                                    \
    CHECK_OF(resource_, !std::is_constructible_v<handle, handle*>);                               \
    CHECK_OF(resource_, !std::is_constructible_v<handle, lci::status_t*>);                        \
    CHECK_OF(resource_, !std::is_constructible_v<handle, const char*>);                           \
    CHECK_OF(resource_, std::is_convertible_v<impl*, handle>);                                    \
    CHECK_OF(resource_, std::is_convertible_v<std::nullptr_t, handle>);                           \
    CHECK_OF(resource_, std::is_assignable_v<handle&, std::nullptr_t>);                           \
    CHECK_OF(resource_, std::is_same_v<decltype(handle::p_impl), impl*>);                         \
    CHECK_OF(resource_,                                                                           \
             std::is_same_v<decltype(std::declval<const handle&>().get_impl()), impl*>);          \
    CHECK_OF(resource_, std::is_same_v<handle::attr_t, lci::resource_##_attr_t>);                 \
    CHECK_OF(resource_,                                                                           \
             std::is_same_v<decltype(std::declval<const handle&>().get_attr()), handle::attr_t>); \
    CHECK_OF(resource_, handle().is_empty());                                                     \
    CHECK_OF(resource_, handle().p_impl == nullptr);                                              \
    CHECK_OF(resource_, handle() == handle());                                                    \
    CHECK_OF(resource_, handle() == nullptr);                                                     \
    CHECK_OF(resource_, empty_one_has_no_impl<handle>());                                         \
    handle other = some_address();                                                                \
    CHECK_OF(resource_, !other.is_empty());                                                       \
    CHECK_OF(resource_, static_cast<void*>(other.p_impl) == some_address());                      \
    CHECK_OF(resource_, other.get_impl() == other.p_impl);                                        \
    CHECK_OF(resource_, other != handle());                                                       \
    CHECK_OF(resource_, handle(other.get_impl()) == other);                                       \
    handle third;                                                                                 \
    third.set_impl(other.get_impl());                                                             \
    CHECK_OF(resource_, third == other);                                                          \
    third.p_impl = nullptr;                                                                       \
    CHECK_OF(resource_, third.is_empty());                                                        \
    third = other;                                                                                \
    third = nullptr;                                                                              \
    CHECK_OF(resource_, third.is_empty());                                                        \
  } while (false)

#define CHECK_OF(resource_, ...) \
  surface::check(static_cast<bool>(__VA_ARGS__), #resource_ "_t: ", #__VA_ARGS__)

void surface::check_handles() {
  HANDLE(runtime);
  HANDLE(packet_pool);
  HANDLE(matching_engine);
  HANDLE(comp);
  HANDLE(net_context);
  HANDLE(device);
  HANDLE(mr);
  HANDLE(endpoint);
  // A completion object of a program's own is a comp_t by its address.
  struct own_comp_t : lci::comp_impl_t {
    void signal(lci::status_t) override {}
  };
  own_comp_t own;
  CHECK(lci::comp_t(&own).get_impl() == &own);
  CHECK(lci::comp_t(static_cast<void*>(&own)).get_impl() == &own);
  CHECK(own.attr.comp_type == lci::attr_comp_type_t::custom);
  CHECK(!own.attr.zero_copy_am);
  CHECK(own.attr.user_context == nullptr);
  CHECK(lci::comp_t(&own).get_attr_comp_type() == lci::attr_comp_type_t::custom);
  // A list of addresses of resources is read as a list of handles.
  lci::mr_impl_t* impls[2] = {lci::mr_t(some_address()).get_impl(), nullptr};
  lci::mr_t handles[2];
  static_assert(sizeof(handles) == sizeof(impls));
  std::memcpy(handles, impls, sizeof(impls));
  CHECK(handles[0].get_impl() == impls[0]);
  CHECK(handles[1].is_empty());
}
