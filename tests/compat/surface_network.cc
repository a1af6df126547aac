// Net contexts, devices, registered memory, endpoints.
#include <cstddef>
#include <cstdint>
#include <string>

#include "surface.h"

using namespace surface::argument;

void surface::check_network_operations() {
  OPERATION(lci::net_context_t, alloc_net_context, ());
  SETTER(alloc_net_context, lci::attr_backend_t, backend);
  SETTER(alloc_net_context, std::string, ofi_provider_name);
  SETTER(alloc_net_context, size_t, max_msg_size);
  SETTER(alloc_net_context, size_t, max_inject_size);
  SETTER(alloc_net_context, int, ibv_gid_idx);
  SETTER(alloc_net_context, bool, ibv_force_gid_auto_select);
  SETTER(alloc_net_context, std::string, device_name);
  SETTER(alloc_net_context, lci::attr_ibv_odp_strategy_t, ibv_odp_strategy);
  SETTER(alloc_net_context, lci::attr_ibv_prefetch_strategy_t, ibv_prefetch_strategy);
  SETTER(alloc_net_context, bool, use_dmabuf);
  SETTER(alloc_net_context, const char*, name);
  SETTER(alloc_net_context, void*, user_context);
  SETTER(alloc_net_context, lci::runtime_t, runtime);

  OPERATION(void, free_net_context, (net_context_address));
  SETTER(free_net_context, lci::net_context_t*, net_context);
  SETTER(free_net_context, lci::runtime_t, runtime);

  OPERATION(lci::device_t, alloc_device, ());
  SETTER(alloc_device, size_t, net_max_sends);
  SETTER(alloc_device, size_t, net_max_recvs);
  SETTER(alloc_device, size_t, net_max_cqes);
  SETTER(alloc_device, double, net_send_reserved_pct);
  SETTER(alloc_device, uint64_t, ofi_lock_mode);
  SETTER(alloc_device, bool, alloc_default_endpoint);
  SETTER(alloc_device, bool, alloc_progress_endpoint);
  SETTER(alloc_device, bool, use_reg_cache);
  SETTER(alloc_device, bool, shm_enable);
  SETTER(alloc_device, size_t, shm_ring_size);
  SETTER(alloc_device, size_t, shm_slot_size);
  SETTER(alloc_device, size_t, shm_producer_cas_attempts);
  SETTER(alloc_device, size_t, shm_consumer_cas_attempts);
  SETTER(alloc_device, size_t, shm_max_polls);
  SETTER(alloc_device, lci::attr_ibv_td_strategy_t, ibv_td_strategy);
  SETTER(alloc_device, const char*, name);
  SETTER(alloc_device, void*, user_context);
  SETTER(alloc_device, lci::runtime_t, runtime);
  SETTER(alloc_device, lci::net_context_t, net_context);
  SETTER(alloc_device, lci::packet_pool_t, packet_pool);

  OPERATION(void, free_device, (device_address));
  SETTER(free_device, lci::device_t*, device);
  SETTER(free_device, lci::runtime_t, runtime);

  OPERATION(lci::mr_t, register_memory, (buffer, size));
  SETTER(register_memory, void*, address);
  SETTER(register_memory, size_t, size);
  SETTER(register_memory, lci::runtime_t, runtime);
  SETTER(register_memory, lci::device_t, device);

  OPERATION(void, deregister_memory, (mr_address));
  SETTER(deregister_memory, lci::mr_t*, mr);
  SETTER(deregister_memory, lci::runtime_t, runtime);

  OPERATION(lci::rmr_t, get_rmr, (mr));
  SETTER(get_rmr, lci::mr_t, mr);
  SETTER(get_rmr, lci::runtime_t, runtime);

  OPERATION(lci::endpoint_t, alloc_endpoint, ());
  SETTER(alloc_endpoint, const char*, name);
  SETTER(alloc_endpoint, void*, user_context);
  SETTER(alloc_endpoint, lci::runtime_t, runtime);
  SETTER(alloc_endpoint, lci::device_t, device);

  OPERATION(void, free_endpoint, (endpoint_address));
  SETTER(free_endpoint, lci::endpoint_t*, endpoint);
  SETTER(free_endpoint, lci::runtime_t, runtime);
}
