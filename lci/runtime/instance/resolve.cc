#include "lci/runtime/instance/resolve.h"

#include "lci/runtime/core/throw.h"
#include "lci/runtime/instance/runtime.h"

namespace lci {
namespace rt {
namespace {

std::atomic<runtime_impl_t*> global{nullptr};

}  // namespace

std::atomic<device_impl_t*> global_device{nullptr};

void set_global_runtime(runtime_impl_t* runtime) {
  global.store(runtime);
  global_device.store(runtime == nullptr ? nullptr : runtime->default_device());
}

runtime_impl_t* global_runtime() { return global.load(std::memory_order_relaxed); }

void refuse_unusable(const live_object& object, const char* what) {
  object.check_process(what);
  throw_invalid_argument("the ", what, " has been freed");
}

runtime_impl_t* resolve(runtime_t runtime) {
  runtime_impl_t* impl = runtime.is_empty() ? global_runtime() : runtime.p_impl;
  if (__builtin_expect(impl == nullptr, 0)) {
    throw_logic_error(
        "there is no global runtime (g_runtime_init), and the option runtime is not given");
  }
  check_live(*impl, "runtime");
  return impl;
}

target resolve(runtime_t runtime, device_t device, endpoint_t endpoint) {
  if (__builtin_expect(!endpoint.is_empty(), 0)) {
    check_live(*endpoint.p_impl, "endpoint");
    device_impl_t* owner = &endpoint.p_impl->device;
    if (!device.is_empty() && device.p_impl != owner) {
      throw_invalid_argument("the endpoint belongs to another device");
    }
    device = owner;
  }
  if (!device.is_empty()) {
    check_device(*device.p_impl);
    runtime_impl_t* owner = &device.p_impl->runtime;
    if (__builtin_expect(!runtime.is_empty() && runtime.p_impl != owner, 0)) {
      throw_invalid_argument("the device belongs to another runtime");
    }
    return {owner, device.p_impl};
  }
  runtime_impl_t* impl = resolve(runtime);
  if (__builtin_expect(impl->default_device() == nullptr, 0)) {
    throw_logic_error(
        "the runtime has no default device (alloc_default_device), and the option device is "
        "not given");
  }
  return {impl, impl->default_device()};
}

namespace {

template <class Impl>
Impl* requested_or_default(const runtime_impl_t& runtime, Impl* requested, Impl* otherwise,
                           const char* what) {
  if (requested == nullptr) {
    if (__builtin_expect(otherwise == nullptr, 0)) {
      throw_logic_error("the runtime has no default ", what, ", and none is given");
    }
    return otherwise;
  }
  check_live(*requested, what);
  if (__builtin_expect(&requested->runtime != &runtime, 0)) {
    throw_invalid_argument("the ", what, " belongs to another runtime");
  }
  return requested;
}

}  // namespace

matching_engine* resolve(runtime_impl_t& runtime, matching_engine_t engine) {
  return requested_or_default(runtime, engine.p_impl, runtime.default_matching_engine(),
                              "matching engine");
}

packet_pool_impl_t* resolve(runtime_impl_t& runtime, packet_pool_t pool) {
  return requested_or_default(runtime, pool.p_impl, runtime.default_packet_pool(), "packet pool");
}

net_context_impl_t* resolve_context(runtime_t runtime, net_context_t context, const char* call) {
  const runtime_impl_t* const owner =
      context.is_empty() ? resolve(runtime) : &checked_handle(context, call)->runtime;
  return requested_or_default(*owner, context.p_impl, owner->default_net_context(), "net context");
}

void refuse_handle(const char* call, const char* why) { throw_invalid_argument(call, ": ", why); }

void refuse_object(const char* call, const char* what, bool is_empty) {
  throw_invalid_argument(call, ": the ", what, is_empty ? " is empty" : " has been freed");
}

mr_impl_t* registered(const mr_t& mr, const char* call) {
  if (mr == MR_DEVICE || mr == MR_UNKNOWN) {
    throw_invalid_argument(call, ": this mr is of no registration");
  }
  return checked_handle(mr, call);
}

}  // namespace rt
}  // namespace lci
