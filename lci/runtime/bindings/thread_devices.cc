#include "lci/runtime/bindings/thread_devices.h"

#include <algorithm>
#include <utility>

#include "lci/api/domains.hpp"
#include "lci/base/thread_object.h"
#include "lci/runtime/core/throw.h"
#include "lci/runtime/instance/resolve.h"
#include "lci/runtime/instance/runtime.h"

namespace lci {
namespace {

// The devices that this thread has, one of each set. A set that has gone stays here until the
// thread ends or takes a device of another: the use count of its pointer shows that it has no other
// owner.
class devices_of_thread {
 public:
  ~devices_of_thread() {
    for (const place& each : places_) give_back(each);
  }

  // The number of the device; -1: none so far.
  int find(const thread_devices_impl_t::shares* set) const {
    for (const place& each : places_) {
      if (each.set.get() == set) return each.number;
    }
    return -1;
  }

  void set(const std::shared_ptr<thread_devices_impl_t::shares>& set, int number) {
    places_.erase(std::remove_if(places_.begin(), places_.end(),
                                 [&](const place& each) {
                                   if (each.set == set) give_back(each);
                                   return each.set == set || each.set.use_count() == 1;
                                 }),
                  places_.end());
    places_.push_back({set, number});
  }

 private:
  struct place {
    std::shared_ptr<thread_devices_impl_t::shares> set;
    int number;
  };
  static void give_back(const place& place) {
    const std::lock_guard<std::mutex> guard(place.set->mutex);
    --place.set->threads[static_cast<size_t>(place.number)];
  }

  std::vector<place> places_;
};

}  // namespace

thread_devices_impl_t::thread_devices_impl_t(runtime_impl_t& owner,
                                             std::vector<device_impl_t*> devices)
    : runtime(owner), devices_(std::move(devices)), shares_(std::make_shared<shares>()) {
  shares_->threads.resize(devices_.size());
}

thread_devices_impl_t::~thread_devices_impl_t() = default;

device_impl_t* thread_devices_impl_t::of_this_thread() {
  auto& own_devices = base::thread_object<devices_of_thread>::get();
  int number = own_devices.find(shares_.get());
  if (__builtin_expect(number >= 0, 1)) return at(number);
  {
    const std::lock_guard<std::mutex> guard(shares_->mutex);
    const auto fewest = std::min_element(shares_->threads.begin(), shares_->threads.end());
    number = static_cast<int>(fewest - shares_->threads.begin());
    ++*fewest;
  }
  own_devices.set(shares_, number);
  return at(number);
}

void thread_devices_impl_t::bind(int number) {
  {
    const std::lock_guard<std::mutex> guard(shares_->mutex);
    ++shares_->threads[static_cast<size_t>(number)];
  }
  base::thread_object<devices_of_thread>::get().set(shares_, number);
}

// The public operations.

namespace {

thread_devices_impl_t& checked(const thread_devices_t& devices, const char* call) {
  return *rt::checked_handle(devices, call);
}

thread_devices_impl_t& checked(const thread_devices_t& devices, int number, const char* call) {
  thread_devices_impl_t& impl = checked(devices, call);
  if (number < 0 || number >= impl.size()) {
    rt::throw_invalid_argument(call, ": number is ", number, ", not 0 to ", impl.size() - 1);
  }
  return impl;
}

}  // namespace

thread_devices_t alloc_thread_devices_x::operator()() const {
  if (get_n() < 1) {
    rt::throw_invalid_argument("alloc_thread_devices: n is ", get_n(), ", not at least 1");
  }
  const rt::device_place place = rt::place_of_device(*this, "alloc_thread_devices");
  const device_attr_t attr = resolve(get_g_default_attr());
  std::vector<device_impl_t*> devices;
  try {
    for (int i = 0; i < get_n(); ++i) {
      devices.push_back(place.runtime.alloc_device(place.context, place.packets, attr));
    }
  } catch (...) {
    for (device_impl_t* each : devices) {
      place.runtime.free_device(each, "alloc_thread_devices");
    }
    throw;
  }
  return new thread_devices_impl_t(place.runtime, std::move(devices));
}

void free_thread_devices_x::operator()() const {
  thread_devices_impl_t& impl =
      checked(rt::handle_at(get_devices(), "free_thread_devices"), "free_thread_devices");
  // All or none.
  for (int i = 0; i < impl.size(); ++i) impl.at(i)->check_unused("free_thread_devices");
  for (int i = 0; i < impl.size(); ++i) {
    impl.runtime.free_device(impl.at(i), "free_thread_devices");
  }
  delete &impl;
  *get_devices() = thread_devices_t();
}

device_t get_thread_device_x::operator()() const {
  return checked(get_devices(), "get_thread_device").of_this_thread();
}

device_t bind_thread_device_x::operator()() const {
  thread_devices_impl_t& impl = checked(get_devices(), get_number(), "bind_thread_device");
  impl.bind(get_number());
  return impl.at(get_number());
}

device_t get_device_of_thread_x::operator()() const {
  return checked(get_devices(), get_number(), "get_device_of_thread").at(get_number());
}

size_t count_registrations_x::operator()() const {
  return rt::resolve_context(get_runtime(), get_net_context(), "count_registrations")
      ->net->registrations();
}

}  // namespace lci
