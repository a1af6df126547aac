#ifndef LCI_RUNTIME_BINDINGS_THREAD_DEVICES_H_
#define LCI_RUNTIME_BINDINGS_THREAD_DEVICES_H_

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "lci/runtime/core/live.h"
#include "lci/runtime/device/device.h"
#include "lci/runtime/instance/resolve.h"
#include "lci/runtime/instance/runtime.h"

namespace lci {

// The object behind a thread_devices_t: devices, and how many threads have each.
//
// Thread safety: every member by any thread at any time, construction and destruction excepted.
class thread_devices_impl_t : public rt::live_object {
 public:
  thread_devices_impl_t(runtime_impl_t& owner, std::vector<device_impl_t*> devices);
  ~thread_devices_impl_t();
  thread_devices_impl_t(const thread_devices_impl_t&) = delete;
  thread_devices_impl_t& operator=(const thread_devices_impl_t&) = delete;

  int size() const { return static_cast<int>(devices_.size()); }
  device_impl_t* at(int number) const { return devices_[static_cast<size_t>(number)]; }
  // See get_thread_device_x.
  device_impl_t* of_this_thread();
  void bind(int number);

  runtime_impl_t& runtime;

  // How many threads have each device. Outlives the set as long as a thread remembers it.
  struct shares {
    std::mutex mutex;
    std::vector<int> threads;  // guarded by mutex
  };

 private:
  const std::vector<device_impl_t*> devices_;
  const std::shared_ptr<shares> shares_;
};

namespace rt {

// Where the options of an allocation put a device.
struct device_place {
  runtime_impl_t& runtime;
  net_context_impl_t& context;
  packet_pool_impl_t& packets;
};
template <class Op>
device_place place_of_device(const Op& options, const char* call) {
  net_context_impl_t& context =
      *resolve_context(options.get_runtime(), options.get_net_context(), call);
  const packet_pool_t pool = options.get_packet_pool();
  return {context.runtime, context,
          pool.is_empty() ? context.runtime.packet_pool() : *resolve(context.runtime, pool)};
}

}  // namespace rt
}  // namespace lci

#endif  // LCI_RUNTIME_BINDINGS_THREAD_DEVICES_H_
