// The public operations on resources, and progress.
#include <algorithm>

#include "lci/api/device.hpp"
#include "lci/api/runtime.hpp"
#include "lci/base/strings.h"
#include "lci/runtime/bindings/thread_devices.h"
#include "lci/runtime/core/rmr.h"
#include "lci/runtime/core/throw.h"
#include "lci/runtime/device/checked_call.h"
#include "lci/runtime/device/device.h"
#include "lci/runtime/device/poll.h"
#include "lci/runtime/device/wait.h"
#include "lci/runtime/instance/resolve.h"
#include "lci/runtime/instance/runtime.h"

namespace lci {

namespace {

// Throws unless `runtime` is empty or the owner.
runtime_impl_t& owner(runtime_t runtime, runtime_impl_t& owner, const char* call) {
  if (!runtime.is_empty() && runtime.p_impl != &owner) {
    rt::throw_invalid_argument(call, ": the resource belongs to another runtime");
  }
  return owner;
}

template <class Impl>
Impl* require(Impl* impl, const char* what) {
  if (impl == nullptr) rt::throw_logic_error("there is no default ", what);
  return impl;
}

}  // namespace

// Net contexts, devices, endpoints.

net_context_t alloc_net_context_x::operator()() const {
  return rt::resolve(get_runtime())->alloc_net_context(resolve(get_g_default_attr()));
}

void free_net_context_x::operator()() const {
  net_context_impl_t* impl = rt::checked_handle(get_net_context(), "free_net_context");
  owner(get_runtime(), impl->runtime, "free_net_context").free_net_context(impl);
  *get_net_context() = net_context_t();
}

net_context_t get_default_net_context_x::operator()() const {
  return rt::resolve(get_runtime())->default_net_context();
}

device_t alloc_device_x::operator()() const {
  const rt::device_place place = rt::place_of_device(*this, "alloc_device");
  return place.runtime.alloc_device(place.context, place.packets, resolve(get_g_default_attr()));
}

void free_device_x::operator()() const {
  device_impl_t* impl = rt::checked_handle(get_device(), "free_device");
  owner(get_runtime(), impl->runtime, "free_device").free_device(impl, "free_device");
  *get_device() = device_t();
}

device_t get_default_device_x::operator()() const {
  return rt::resolve(get_runtime(), device_t()).device;
}

endpoint_t alloc_endpoint_x::operator()() const {
  return rt::resolve(get_runtime(), get_device())
      .device->alloc_endpoint(resolve(get_g_default_attr()));
}

void free_endpoint_x::operator()() const {
  endpoint_impl_t* impl = rt::checked_handle(get_endpoint(), "free_endpoint");
  owner(get_runtime(), impl->device.runtime, "free_endpoint");
  impl->device.free_endpoint(impl);
  *get_endpoint() = endpoint_t();
}

endpoint_t get_default_endpoint_x::operator()() const {
  return require(rt::resolve(get_runtime(), get_device()).device->default_endpoint(),
                 "endpoint of this device (alloc_default_endpoint)");
}

// Memory.

mr_t register_memory_x::operator()() const {
  const rt::target target = rt::resolve(get_runtime(), get_device());
  if (get_address() == nullptr && get_size() > 0) {
    rt::throw_invalid_argument("register_memory: address is null and size is ", get_size());
  }
  return target.runtime->register_memory(target.device->context, get_address(), get_size(),
                                         resolve(get_g_default_attr()));
}

mr_t alloc_mr_x::operator()() const {
  const rt::target target = rt::resolve(get_runtime(), get_device());
  return target.runtime->alloc_memory(target.device->context, get_size(),
                                      resolve(get_g_default_attr()));
}

namespace {

// `allocated`: as it must have been made.
void end(mr_t* mr, runtime_t runtime, bool allocated, const char* call) {
  mr_impl_t* impl = rt::registered(rt::handle_at(mr, call), call);
  if (impl->allocated != allocated) {
    rt::throw_invalid_argument(call, ": this mr is from ",
                               impl->allocated ? "alloc_mr; use free_mr"
                                               : "register_memory; use "
                                                 "deregister_memory");
  }
  owner(runtime, impl->context.runtime, call).deregister_memory(impl);
  *mr = mr_t();
}

}  // namespace

void deregister_memory_x::operator()() const {
  end(get_mr(), get_runtime(), /*allocated=*/false, "deregister_memory");
}

void free_mr_x::operator()() const { end(get_mr(), get_runtime(), /*allocated=*/true, "free_mr"); }

void* get_mr_address_x::operator()() const {
  return rt::registered(get_mr(), "get_mr_address")->address;
}

size_t get_mr_size_x::operator()() const { return rt::registered(get_mr(), "get_mr_size")->size; }

rmr_t get_rmr_x::operator()() const {
  const mr_impl_t* impl = rt::registered(get_mr(), "get_rmr");
  const net::remote_region remote = impl->context.net->remote_key(impl->region);
  rmr_t rmr;
  if (!rt::make_rmr(remote, reinterpret_cast<uintptr_t>(impl->address), impl->size, &rmr)) {
    rt::throw_runtime_error(
        "get_rmr: an rmr_t has no room for the name ", base::Hex(remote.base), " that backend ",
        impl->context.net->name(), " has for this memory of ", impl->size,
        " bytes; register less than 64 TiB at a time, or choose another LCI_ATTR_BACKEND");
  }
  return rmr;
}

// Packets.

packet_pool_t alloc_packet_pool_x::operator()() const {
  return rt::resolve(get_runtime())->alloc_packet_pool(resolve(get_g_default_attr()));
}

void free_packet_pool_x::operator()() const {
  packet_pool_impl_t* impl = rt::checked_handle(get_packet_pool(), "free_packet_pool");
  owner(get_runtime(), impl->runtime, "free_packet_pool").free_packet_pool(impl);
  *get_packet_pool() = packet_pool_t();
}

packet_pool_t get_default_packet_pool_x::operator()() const {
  return require(rt::resolve(get_runtime())->default_packet_pool(), "packet pool");
}

void register_packet_pool_x::operator()() const {
  packet_pool_impl_t* pool = rt::checked_handle(get_packet_pool(), "register_packet_pool");
  device_impl_t* device = rt::checked_handle(get_device(), "register_packet_pool");
  owner(get_runtime(), pool->runtime, "register_packet_pool");
  owner(&pool->runtime, device->runtime, "register_packet_pool");
  if (device->net->limits().needs_registration) pool->regions(device->context);
}

void deregister_packet_pool_x::operator()() const {
  packet_pool_impl_t* pool = rt::checked_handle(get_packet_pool(), "deregister_packet_pool");
  device_impl_t* device = rt::checked_handle(get_device(), "deregister_packet_pool");
  owner(get_runtime(), pool->runtime, "deregister_packet_pool");
  if (pool == &device->packets()) {
    rt::throw_logic_error("deregister_packet_pool: it is the pool of this device");
  }
  if (pool->devices.load(std::memory_order_acquire) == 0) pool->forget(device->context);
}

void* get_upacket_x::operator()() const {
  rt::packet* packet =
      (get_packet_pool().is_empty() ? rt::resolve(*rt::resolve(get_runtime()), packet_pool_t())
                                    : rt::checked_handle(get_packet_pool(), "get_upacket"))
          ->get();
  return packet == nullptr ? nullptr : packet->payload();
}

void put_upacket_x::operator()() const {
  if (get_packet() == nullptr ||
      reinterpret_cast<uintptr_t>(get_packet()) % alignof(rt::packet) != 0) {
    rt::refuse_handle("put_upacket", "this is not a packet");
  }
  rt::packet* const returned = rt::packet::of(get_packet());
  if (__builtin_expect(returned->is_valid(), 1)) return returned->put();
  rt::put_checked(returned);
}

size_t get_max_bcopy_size_x::operator()() const {
  const runtime_impl_t* runtime = get_packet_pool().is_empty() ? rt::resolve(get_runtime())
                                                               : &get_packet_pool().p_impl->runtime;
  const packet_pool_impl_t* pool =
      get_packet_pool().is_empty() ? require(runtime->default_packet_pool(), "packet pool")
                                   : rt::checked_handle(get_packet_pool(), "get_max_bcopy_size");
  const device_impl_t* device = runtime->default_device();
  const size_t packet = pool->attr.packet_size;
  if (device == nullptr) return packet;
  return std::min(packet, device->net->limits().max_send - net::max_header_size);
}

// Matching engines.

matching_engine_t alloc_matching_engine_x::operator()() const {
  return rt::resolve(get_runtime())
      ->alloc_matching_engine(resolve(get_g_default_attr()), get_make_key());
}

void free_matching_engine_x::operator()() const {
  matching_engine_impl_t* impl = rt::checked_handle(get_matching_engine(), "free_matching_engine");
  owner(get_runtime(), impl->runtime, "free_matching_engine").free_matching_engine(impl);
  *get_matching_engine() = matching_engine_t();
}

matching_engine_t get_default_matching_engine_x::operator()() const {
  return require(rt::resolve(get_runtime())->default_matching_engine(), "matching engine");
}

matching_entry_val_t matching_engine_insert_x::operator()() const {
  if (get_value() == nullptr) rt::throw_invalid_argument("matching_engine_insert: value is null");
  return rt::checked_handle(get_matching_engine(), "matching_engine_insert")
      ->insert(get_key(), get_value(), get_entry_type());
}

// The allocator, progress.

void set_allocator_x::operator()() const {
  if (get_allocator() == nullptr) rt::throw_invalid_argument("set_allocator: it is null");
  rt::resolve(get_runtime())->set_allocator(get_allocator());
}

allocator_base_t* get_allocator_x::operator()() const {
  return &rt::resolve(get_runtime())->allocator();
}

progress_result_t progress_x::operator()() const {
  if (__builtin_expect(get_runtime().is_empty() && get_endpoint().is_empty(), 1)) {
    device_impl_t* const device = rt::known_device(get_device());
    if (__builtin_expect(device != nullptr, 1)) {
      return rt::poll(*device, device->attr.progress_yield);
    }
  }
  device_impl_t& device = *rt::resolve(get_runtime(), get_device(), get_endpoint()).device;
  const rt::checked_call call(&device, "progress");
  return rt::poll(device, device.attr.progress_yield);
}

error_t test_drained_x::operator()() const {
  return rt::resolve(get_runtime(), get_device()).device->drained() ? errorcode_t::done
                                                                    : errorcode_t::retry;
}

void wait_drained_x::operator()() const {
  device_impl_t* device = rt::resolve(get_runtime(), get_device()).device;
  rt::wait_until(device, {"wait_drained"}, [device] { return device->drained(); });
}

}  // namespace lci
