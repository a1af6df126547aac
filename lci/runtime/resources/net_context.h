#ifndef LCI_RUNTIME_RESOURCES_NET_CONTEXT_H_
#define LCI_RUNTIME_RESOURCES_NET_CONTEXT_H_

#include <atomic>
#include <memory>

#include "lci/api/attr.hpp"
#include "lci/base/status.h"
#include "lci/boot/bootstrap.h"
#include "lci/net/backend.h"
#include "lci/runtime/core/live.h"
#include "lci/runtime/resources/open_memory.h"
#include "lci/runtime/resources/registrations.h"

namespace lci {

class runtime_impl_t;
namespace rt {
class common_settings;
class rank_state;
}  // namespace rt

// The backend that a rank in this position uses for attribute `wanted`. The error is for the
// program's user.
base::StatusOr<const net::backend_entry*> choose_backend(const boot::job_position& position,
                                                         attr_backend_t wanted);

// Adds the backend, and its attributes that all ranks must have alike.
void add_settings(const net::backend_entry& backend, const net_context_attr_t& attr,
                  const device_attr_t& devices, rt::common_settings* to);

// The object behind a net_context_t: an attachment to a network, in a scope of the bootstrap of
// its own.
class net_context_impl_t : public rt::live_object {
 public:
  // Collective. Throws std::runtime_error. The settings of number 0, which is the runtime's own,
  // have been compared with the other ranks'.
  net_context_impl_t(rt::rank_state& state, const net_context_attr_t& attributes,
                     std::unique_ptr<boot::bootstrap> boot, int number);
  ~net_context_impl_t();
  net_context_impl_t(const net_context_impl_t&) = delete;
  net_context_impl_t& operator=(const net_context_impl_t&) = delete;

 private:
  const std::unique_ptr<boot::bootstrap> boot_;  // outlives `net`

 public:
  rt::rank_state& state;
  runtime_impl_t& runtime;
  net_context_attr_t attr;
  const int number;  // in the order of allocation, equal on all ranks
  const std::unique_ptr<net::context> net;
  rt::registrations registrations{*net};
  rt::open_memory open_memory;   // by alloc_mr and register_memory
  std::atomic<int> next_uid{0};  // of the devices
  std::atomic<int> users{0};     // devices and registrations of the program
  std::atomic<uint64_t> next_serial{1};
};

// The object behind an mr_t.
class mr_impl_t : public rt::live_object {
 public:
  mr_impl_t(net_context_impl_t& owner, const mr_attr_t& attributes, void* memory, size_t bytes,
            net::local_region registered, bool allocated_by_us)
      : context(owner),
        attr(attributes),
        address(memory),
        size(bytes),
        region(registered),
        allocated(allocated_by_us),
        serial(owner.next_serial.fetch_add(1, std::memory_order_relaxed)) {}

  net_context_impl_t& context;
  const mr_attr_t attr;
  void* const address;
  const size_t size;
  const net::local_region region;
  const bool allocated;   // by alloc_mr: else the memory is the program's
  const uint64_t serial;  // of its net context's; never given twice
};

}  // namespace lci

#endif  // LCI_RUNTIME_RESOURCES_NET_CONTEXT_H_
