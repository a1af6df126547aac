#ifndef LCI_RUNTIME_INSTANCE_RESOLVE_H_
#define LCI_RUNTIME_INSTANCE_RESOLVE_H_

#include <atomic>

#include "lci/api/resource.hpp"
#include "lci/runtime/core/live.h"
#include "lci/runtime/device/device.h"
#include "lci/runtime/matching/engine.h"

namespace lci::rt {

[[noreturn]] void refuse_unusable(const live_object& object, const char* what);

// Throws std::invalid_argument if the program has freed what stands behind its handle, and
// std::logic_error if it belongs to the process that this one was forked from.
inline void check_live(const live_object& object, const char* what) {
  if (__builtin_expect(!object.is_live(), 0)) refuse_unusable(object, what);
}
// Devices alone may be watched instead.
inline void check_device(const device_impl_t& device) {
  if (!device.is_watched()) check_live(device, "device");
}

// Throws std::invalid_argument: "lci: CALL: WHY".
[[noreturn]] void refuse_handle(const char* call, const char* why);

// The handle whose address a call that frees was given. Throws std::invalid_argument if that is
// null.
template <class Handle>
Handle& handle_at(Handle* handle, const char* call) {
  if (__builtin_expect(handle == nullptr, 0)) {
    refuse_handle(call, "the pointer to the handle is null");
  }
  return *handle;
}

// The object behind a handle that is to be freed, or used in `call`. Throws std::invalid_argument
// if it is empty or has been freed, std::logic_error if it belongs to the process that this one was
// forked from.
template <class Handle>
auto* checked_handle(const Handle& handle, const char* call) {
  if (__builtin_expect(handle.is_empty() || !handle.p_impl->is_live(), 0)) {
    if (!handle.is_empty() && handle.p_impl->is_watched()) return handle.p_impl;
    if (!handle.is_empty()) handle.p_impl->check_process("resources");
    refuse_handle(call, handle.is_empty() ? "the handle is empty" : "it has been freed before");
  }
  return handle.p_impl;
}
template <class Handle>
auto* checked_handle(Handle* handle, const char* call) {
  return checked_handle(handle_at(handle, call), call);
}

// As checked_handle(), for objects that are never watched; `what` names the object in the errors:
// "lci: CALL: the WHAT is empty", "... has been freed".
[[noreturn]] void refuse_object(const char* call, const char* what, bool is_empty);
template <class Handle>
auto& checked_object(const Handle& handle, const char* call, const char* what) {
  if (__builtin_expect(handle.is_empty() || !handle.p_impl->is_live(), 0)) {
    if (!handle.is_empty()) handle.p_impl->check_process(what);
    refuse_object(call, what, handle.is_empty());
  }
  return *handle.p_impl;
}

// The object behind an mr that is of a registration. Throws std::invalid_argument, naming `call`.
mr_impl_t* registered(const mr_t& mr, const char* call);

struct target {
  runtime_impl_t* runtime;
  device_impl_t* device;
};

// Resolve the options: an endpoint brings its device, a device its runtime; otherwise the given
// or global runtime, and its default device. Throw std::logic_error if there is none,
// std::invalid_argument if what is given does not belong together.
runtime_impl_t* resolve(runtime_t runtime);
// The global runtime (g_runtime_init); null while there is none.
runtime_impl_t* global_runtime();
void set_global_runtime(runtime_impl_t* runtime);
// Its default device; null while there is none.
extern std::atomic<device_impl_t*> global_device;
// (The common case is inlined: the program names the device, or nothing.)
[[gnu::always_inline]] inline target target_of(runtime_t runtime, device_t device,
                                               endpoint_t endpoint);
target resolve(runtime_t runtime, device_t device, endpoint_t endpoint = endpoint_t());
matching_engine* resolve(runtime_impl_t& runtime, matching_engine_t engine);
packet_pool_impl_t* resolve(runtime_impl_t& runtime, packet_pool_t pool);
// A context brings its runtime, and else the runtime its default context.
net_context_impl_t* resolve_context(runtime_t runtime, net_context_t context, const char* call);

// That device, or the default one; null if there is none, or it may not be used, or is watched.
inline device_impl_t* known_device(device_t device) {
  device_impl_t* const impl =
      device.is_empty() ? global_device.load(std::memory_order_relaxed) : device.p_impl;
  return __builtin_expect(impl != nullptr && impl->is_live(), 1) ? impl : nullptr;
}

inline target target_of(runtime_t runtime, device_t device, endpoint_t endpoint) {
  if (__builtin_expect(endpoint.is_empty() && runtime.is_empty(), 1)) {
    device_impl_t* const impl = known_device(device);
    if (__builtin_expect(impl != nullptr, 1)) return {&impl->runtime, impl};
  }
  return resolve(runtime, device, endpoint);
}

}  // namespace lci::rt

#endif  // LCI_RUNTIME_INSTANCE_RESOLVE_H_
