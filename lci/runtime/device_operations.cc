// The public operations on devices, and progress.
#include <stdexcept>

#include "lci/api/runtime.hpp"
#include "lci/runtime/device.h"
#include "lci/runtime/resolve.h"
#include "lci/runtime/runtime.h"
#include "lci/runtime/wait.h"

namespace lci {

device_t alloc_device_x::operator()() const {
  runtime_impl_t* runtime = rt::resolve(get_runtime());
  const global_attr_t defaults = get_g_default_attr();
  device_attr_t attr;
#define LCI_ATTR_RESOLVE(type_, name_, default_, doc_) \
  attr.name_ = attr_##name_##_.value_or(defaults.name_);
  LCI_DEVICE_ATTRS(LCI_ATTR_RESOLVE)
#undef LCI_ATTR_RESOLVE
  attr.name = get_name();
  attr.user_context = get_user_context();
  return runtime->alloc_device(attr);
}

void free_device_x::operator()() const {
  if (device_->is_empty()) throw std::invalid_argument("lci: free_device: the handle is empty");
  const rt::target target = rt::resolve(get_runtime(), *device_);
  target.runtime->free_device(target.device);
  *device_ = device_t();
}

device_t get_default_device_x::operator()() const {
  return rt::resolve(get_runtime(), device_t()).device;
}

void set_allocator_x::operator()() const {
  if (allocator_ == nullptr) throw std::invalid_argument("lci: set_allocator: it is null");
  rt::resolve(get_runtime())->set_allocator(allocator_);
}

allocator_base_t* get_allocator_x::operator()() const {
  return &rt::resolve(get_runtime())->allocator();
}

error_t progress_x::operator()() const {
  return rt::resolve(get_runtime(), get_device()).device->progress();
}

error_t test_drained_x::operator()() const {
  return rt::resolve(get_runtime(), get_device()).device->drained() ? errorcode_t::done
                                                                    : errorcode_t::retry;
}

void wait_drained_x::operator()() const {
  device_impl_t* device = rt::resolve(get_runtime(), get_device()).device;
  rt::wait_until(device, "wait_drained", [device] { return device->drained(); });
}

}  // namespace lci
