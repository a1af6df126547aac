#ifndef LCI_RUNTIME_RUNTIME_H_
#define LCI_RUNTIME_RUNTIME_H_

#include <atomic>
#include <memory>
#include <mutex>

#include "lci/api/attr.hpp"
#include "lci/api/comp.hpp"
#include "lci/api/runtime.hpp"
#include "lci/boot/bootstrap.h"
#include "lci/ds/mpmc_array.h"
#include "lci/net/backend.h"
#include "lci/runtime/device.h"
#include "lci/runtime/matching.h"
#include "lci/runtime/wire.h"

namespace lci {

// What stands behind a runtime_t: everything that one use of the library has, made from a bootstrap
// and attributes. Knows nothing of other runtimes of the process.
//
// Thread safety: every member by any thread at any time, construction and destruction excepted.
class runtime_impl_t {
 public:
  // Collective. `boot` is the runtime's own: names used in it are not used by anybody else. Throws.
  runtime_impl_t(std::unique_ptr<boot::bootstrap> boot, const runtime_attr_t& attributes,
                 const device_attr_t& default_device);
  // Local; see free_runtime for the collective end.
  ~runtime_impl_t();
  runtime_impl_t(const runtime_impl_t&) = delete;
  runtime_impl_t& operator=(const runtime_impl_t&) = delete;

  int rank() const { return boot_->rank(); }
  int size() const { return boot_->size(); }
  net::context& network() { return *network_; }
  const rt::imm_layout& imm() const { return imm_; }
  rt::matching_engine& coll_matching() { return coll_matching_; }
  // The number of the next collective operation: equal on all ranks that call collectives in the
  // same order.
  uint32_t next_collective() { return collectives_.fetch_add(1, std::memory_order_relaxed); }

  // Devices. alloc_device is collective; free_device throws std::logic_error if something is under
  // way.
  device_impl_t* alloc_device(device_attr_t attributes);
  void free_device(device_impl_t* device);
  device_impl_t* default_device() const { return default_device_.get(); }
  // How many there are besides the default one.
  int extra_devices() const { return extra_devices_.load(std::memory_order_acquire); }

  // Completion objects that other ranks can name.
  rcomp_t reserve_rcomps(rcomp_t n);
  void set_rcomp(rcomp_t rcomp, comp_impl_t* comp);
  // Throws std::runtime_error, naming the sender, if nothing is registered as `rcomp`.
  comp_impl_t* find_rcomp(rcomp_t rcomp, int sender) const;

  // Memory for a message from `sender`; null for size 0. Throws std::runtime_error if there is
  // none.
  void* allocate(size_t size, int sender);
  allocator_base_t& allocator() { return *allocator_; }
  void set_allocator(allocator_base_t* allocator) { allocator_ = allocator; }

  const runtime_attr_t& attr() const { return attr_; }

 private:
  std::unique_ptr<device_impl_t> make_device(device_attr_t attributes);

  const std::unique_ptr<boot::bootstrap> boot_;
  runtime_attr_t attr_;
  rt::imm_layout imm_;
  allocator_base_t* allocator_ = &g_allocator_default;
  std::unique_ptr<net::context> network_;

  std::mutex rcomp_mutex_;  // orders reservations; look-ups take no lock
  rcomp_t next_rcomp_ = 1;  // guarded by rcomp_mutex_
  ds::mpmc_array<comp_impl_t*> rcomps_;

  std::atomic<int> next_uid_{0};
  std::atomic<int> extra_devices_{0};
  std::atomic<uint32_t> collectives_{0};
  rt::matching_engine coll_matching_;
  std::unique_ptr<device_impl_t> default_device_;  // last: ends first
};

}  // namespace lci

#endif  // LCI_RUNTIME_RUNTIME_H_
