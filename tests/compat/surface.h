// The interface that programs written for LCI 2 use, as tables of checks.
//
// A check is one line of a table. One that does not hold is printed with its text, and the others
// are still made; a type or function that does not exist at all is an error of the compiler on its
// line of the table.
#ifndef LCI_TESTS_COMPAT_SURFACE_H_
#define LCI_TESTS_COMPAT_SURFACE_H_

#include <type_traits>
#include <utility>

#include "lci.hpp"

namespace surface {

// Counts a check, and prints `what` if it does not hold.
void check(bool holds, const char* subject, const char* what);

// The tables. Those with a runtime read the values of live resources.
void check_types();
void check_enumerators();
void check_statuses();
void check_macros();
void check_handles();
void check_attributes();
void check_global_attributes();
void check_runtime_operations();
void check_resource_operations();
void check_completion_operations();
void check_graph_operations();
void check_post_operations();
void check_send_buffers();
void check_network_operations();
void check_net_post_operations();
void check_collective_operations();
void check_live_attributes();
void check_live_handles();
void check_live_setters();

// Arguments of every type, for expressions that are not evaluated. None of them is defined.
namespace argument {
extern bool flag;
extern int number;
extern size_t size;
extern int64_t count;
extern const char* text;
extern void* buffer;
extern const void* const_buffer;
extern uintptr_t disp;
extern lci::tag_t tag;
extern lci::rcomp_t rcomp;
extern lci::direction_t direction;
extern lci::status_t status;
extern lci::status_t* statuses;
extern lci::net_status_t* net_statuses;
extern lci::runtime_t runtime;
extern lci::packet_pool_t packet_pool;
extern lci::matching_engine_t matching_engine;
extern lci::comp_t comp;
extern lci::device_t device;
extern lci::mr_t mr;
extern lci::rmr_t rmr;
extern lci::runtime_t* runtime_address;
extern lci::packet_pool_t* packet_pool_address;
extern lci::matching_engine_t* matching_engine_address;
extern lci::comp_t* comp_address;
extern lci::net_context_t* net_context_address;
extern lci::device_t* device_address;
extern lci::mr_t* mr_address;
extern lci::endpoint_t* endpoint_address;
extern lci::matching_entry_key_t key;
extern lci::matching_entry_val_t value;
extern lci::matching_entry_type_t entry_type;
extern lci::allocator_base_t* allocator;
extern lci::comp_handler_t handler;
extern lci::graph_node_run_cb_t run_node;
extern lci::graph_node_t node;
extern lci::reduce_op_t reduce_op;
}  // namespace argument

template <class Op, class = void>
struct result_of_call {
  using type = std::nullptr_t;  // of no operation
};
template <class Op>
struct result_of_call<Op, std::void_t<decltype(std::declval<Op>().call())>> {
  using type = decltype(std::declval<Op>().call());
};

// Whether op.name(value) is a setter of the operation object Op: on a temporary, on an object with
// a name, and on what another setter returned, which can be called and kept.
template <class Op, class Value, class Set>
constexpr bool is_setter(Set) {
  if constexpr (std::is_invocable_v<Set, Op&, Value> && std::is_invocable_v<Set, Op, Value>) {
    using chained = std::invoke_result_t<Set, Op, Value>;
    using on_named = std::invoke_result_t<Set, Op&, Value>;
    return std::is_same_v<std::decay_t<chained>, Op> &&
           std::is_same_v<std::decay_t<on_named>, Op> && std::is_constructible_v<Op, chained> &&
           std::is_constructible_v<Op, on_named> && std::is_invocable_v<Set, chained, Value> &&
           std::is_same_v<decltype(std::declval<chained>()()), decltype(std::declval<Op>()())>;
  } else {
    return false;
  }
}

// Whether get(object) is Type, for a getter or a field that may be missing.
template <class Type, class Object, class Get>
constexpr bool has(Get) {
  if constexpr (std::is_invocable_v<Get, Object>) {
    return std::is_same_v<std::decay_t<std::invoke_result_t<Get, Object>>, Type>;
  } else {
    return false;
  }
}

}  // namespace surface

#define CHECK(...) surface::check(static_cast<bool>(__VA_ARGS__), "", #__VA_ARGS__)

// An alias or a constant of this very type.
#define TYPE(name_, type_) \
  surface::check(std::is_same_v<std::decay_t<name_>, type_>, #name_, " is not " #type_)

#define ENUMERATOR(enum_, name_, value_)                                              \
  surface::check(static_cast<int>(lci::enum_::name_) == (value_), #enum_ "::" #name_, \
                 " is not " #value_)

// The operation name_ with positional arguments args_ (in parentheses) and its function object.
#define OPERATION(result_, name_, args_)                                                        \
  surface::check(std::is_same_v<decltype(lci::name_ args_), result_>, #name_,                   \
                 #args_ " does not return " #result_);                                          \
  surface::check(std::is_same_v<decltype(lci::name_##_x args_()), result_>&&                    \
                     std::is_invocable_v<const lci::name_##_x&>,                                \
                 #name_ "_x", #args_ "() does not return " #result_);                           \
  surface::check(std::is_same_v<surface::result_of_call<const lci::name_##_x&>::type, result_>, \
                 #name_ "_x", #args_ ".call() does not return " #result_);                      \
  surface::check(                                                                               \
      std::is_copy_constructible_v<lci::name_##_x>&& std::is_copy_assignable_v<lci::name_##_x>, \
      #name_ "_x", " can not be copied")

#define SETTER(operation_, type_, name_)                                                      \
  surface::check(                                                                             \
      surface::is_setter<lci::operation_##_x, type_>(                                         \
          [](auto&& object,                                                                   \
             auto option) -> decltype(std::forward<decltype(object)>(object).name_(option)) { \
            return std::forward<decltype(object)>(object).name_(option);                      \
          }),                                                                                 \
      #operation_ "_x", "(...)." #name_ "(" #type_ ") is no setter")

// The attribute of a resource: its getter, and the field of its attr_t.
#define ATTRIBUTE(resource_, type_, name_)                                             \
  surface::check(surface::has<type_, const lci::resource_##_t&>(                       \
                     [](const auto& handle) -> decltype(handle.get_attr_##name_()) {   \
                       return handle.get_attr_##name_();                               \
                     }),                                                               \
                 #resource_ "_t", " has no " #type_ " get_attr_" #name_ "()");         \
  surface::check(surface::has<type_, lci::resource_##_attr_t&>(                        \
                     [](auto& attr) -> decltype((attr.name_)) { return attr.name_; }), \
                 #resource_ "_attr_t", " has no field " #type_ " " #name_)

#define GLOBAL_ATTRIBUTE(type_, name_)                                                 \
  surface::check(surface::has<type_, lci::global_attr_t&>(                             \
                     [](auto& attr) -> decltype((attr.name_)) { return attr.name_; }), \
                 "global_attr_t", " has no field " #type_ " " #name_)

#endif  // LCI_TESTS_COMPAT_SURFACE_H_
