#ifndef LCI_RUNTIME_RESOLVE_H_
#define LCI_RUNTIME_RESOLVE_H_

#include <atomic>

#include "lci/api/resource.hpp"
#include "lci/runtime/device.h"
#include "lci/runtime/live.h"
#include "lci/runtime/matching.h"

namespace lci::rt {

[[noreturn]] void refuse_unusable(const live_object& object, const char* what);

// Throws std::invalid_argument if the program has freed what stands behind its handle, and
// std::logic_error if it belongs to the process that this one was forked from.
inline void check_live(const live_object& object, const char* what) {
  if (__builtin_expect(!object.is_live(), 0)) refuse_unusable(object, what);
}

// What stands behind an mr that is of a registration. Throws std::invalid_argument, naming `call`.
mr_impl_t* registered(const mr_t& mr, const char* call);

struct target {
  runtime_impl_t* runtime;
  device_impl_t* device;
};

// What the options mean: an endpoint brings its device, a device its runtime; otherwise the given
// or global runtime, and its default device. Throw std::logic_error if there is none,
// std::invalid_argument if what is given does not belong together.
runtime_impl_t* resolve(runtime_t runtime);
// The default device of the global runtime; null while there is none.
extern std::atomic<device_impl_t*> global_device;
// (What most programs do is inlined: they name the device, or nothing.)
[[gnu::always_inline]] inline target target_of(runtime_t runtime, device_t device,
                                               endpoint_t endpoint);
target resolve(runtime_t runtime, device_t device, endpoint_t endpoint = endpoint_t());
matching_engine* resolve(runtime_impl_t& runtime, matching_engine_t engine);
packet_pool_impl_t* resolve(runtime_impl_t& runtime, packet_pool_t pool);
net_context_impl_t* resolve(runtime_impl_t& runtime, net_context_t context);

// That device, or the default one; null if there is none, or it may not be used.
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

#endif  // LCI_RUNTIME_RESOLVE_H_
