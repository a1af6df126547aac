// The attributes of every resource: the getter of the handle and the field of its attr_t; and the
// global defaults of those that can be set.
#include "surface.h"

void surface::check_attributes() {
  ATTRIBUTE(runtime, size_t, packet_return_threshold);
  ATTRIBUTE(runtime, int, imm_nbits_tag);
  ATTRIBUTE(runtime, int, imm_nbits_rcomp);
  ATTRIBUTE(runtime, lci::attr_rdv_protocol_t, rdv_protocol);
  ATTRIBUTE(runtime, uint64_t, max_imm_tag);
  ATTRIBUTE(runtime, uint64_t, max_imm_rcomp);
  ATTRIBUTE(runtime, uint64_t, max_tag);
  ATTRIBUTE(runtime, uint64_t, max_rcomp);
  ATTRIBUTE(runtime, bool, alloc_default_device);
  ATTRIBUTE(runtime, bool, alloc_default_packet_pool);
  ATTRIBUTE(runtime, bool, alloc_default_matching_engine);
  ATTRIBUTE(runtime, const char*, name);
  ATTRIBUTE(runtime, void*, user_context);

  ATTRIBUTE(packet_pool, size_t, packet_size);
  ATTRIBUTE(packet_pool, size_t, npackets);
  ATTRIBUTE(packet_pool, const char*, name);
  ATTRIBUTE(packet_pool, void*, user_context);

  ATTRIBUTE(matching_engine, lci::attr_matching_engine_type_t, matching_engine_type);
  ATTRIBUTE(matching_engine, const char*, name);
  ATTRIBUTE(matching_engine, void*, user_context);

  ATTRIBUTE(comp, lci::attr_comp_type_t, comp_type);
  ATTRIBUTE(comp, int, sync_threshold);
  ATTRIBUTE(comp, bool, zero_copy_am);
  ATTRIBUTE(comp, lci::attr_cq_type_t, cq_type);
  ATTRIBUTE(comp, int, cq_default_length);
  ATTRIBUTE(comp, const char*, name);
  ATTRIBUTE(comp, void*, user_context);

  ATTRIBUTE(net_context, lci::attr_backend_t, backend);
  ATTRIBUTE(net_context, std::string, ofi_provider_name);
  ATTRIBUTE(net_context, size_t, max_msg_size);
  ATTRIBUTE(net_context, size_t, max_inject_size);
  ATTRIBUTE(net_context, int, ibv_gid_idx);
  ATTRIBUTE(net_context, bool, ibv_force_gid_auto_select);
  ATTRIBUTE(net_context, std::string, device_name);
  ATTRIBUTE(net_context, lci::attr_ibv_odp_strategy_t, ibv_odp_strategy);
  ATTRIBUTE(net_context, lci::attr_ibv_prefetch_strategy_t, ibv_prefetch_strategy);
  ATTRIBUTE(net_context, bool, support_putimm);
  ATTRIBUTE(net_context, bool, use_dmabuf);
  ATTRIBUTE(net_context, const char*, name);
  ATTRIBUTE(net_context, void*, user_context);

  ATTRIBUTE(device, size_t, net_max_sends);
  ATTRIBUTE(device, size_t, net_max_recvs);
  ATTRIBUTE(device, size_t, net_max_cqes);
  ATTRIBUTE(device, double, net_send_reserved_pct);
  ATTRIBUTE(device, uint64_t, ofi_lock_mode);
  ATTRIBUTE(device, bool, alloc_default_endpoint);
  ATTRIBUTE(device, bool, alloc_progress_endpoint);
  ATTRIBUTE(device, bool, use_reg_cache);
  ATTRIBUTE(device, bool, shm_enable);
  ATTRIBUTE(device, size_t, shm_ring_size);
  ATTRIBUTE(device, size_t, shm_slot_size);
  ATTRIBUTE(device, size_t, shm_producer_cas_attempts);
  ATTRIBUTE(device, size_t, shm_consumer_cas_attempts);
  ATTRIBUTE(device, size_t, shm_max_polls);
  ATTRIBUTE(device, int, uid);
  ATTRIBUTE(device, lci::attr_ibv_td_strategy_t, ibv_td_strategy);
  ATTRIBUTE(device, const char*, name);
  ATTRIBUTE(device, void*, user_context);

  ATTRIBUTE(mr, const char*, name);
  ATTRIBUTE(mr, void*, user_context);

  ATTRIBUTE(endpoint, int, uid);
  ATTRIBUTE(endpoint, const char*, name);
  ATTRIBUTE(endpoint, void*, user_context);
}

void surface::check_global_attributes() {
  GLOBAL_ATTRIBUTE(size_t, packet_return_threshold);
  GLOBAL_ATTRIBUTE(int, imm_nbits_tag);
  GLOBAL_ATTRIBUTE(int, imm_nbits_rcomp);
  GLOBAL_ATTRIBUTE(lci::attr_rdv_protocol_t, rdv_protocol);
  GLOBAL_ATTRIBUTE(bool, alloc_default_device);
  GLOBAL_ATTRIBUTE(bool, alloc_default_packet_pool);
  GLOBAL_ATTRIBUTE(bool, alloc_default_matching_engine);
  GLOBAL_ATTRIBUTE(size_t, packet_size);
  GLOBAL_ATTRIBUTE(size_t, npackets);
  GLOBAL_ATTRIBUTE(lci::attr_matching_engine_type_t, matching_engine_type);
  GLOBAL_ATTRIBUTE(int, sync_threshold);
  GLOBAL_ATTRIBUTE(bool, zero_copy_am);
  GLOBAL_ATTRIBUTE(lci::attr_cq_type_t, cq_type);
  GLOBAL_ATTRIBUTE(int, cq_default_length);
  GLOBAL_ATTRIBUTE(lci::attr_backend_t, backend);
  GLOBAL_ATTRIBUTE(std::string, ofi_provider_name);
  GLOBAL_ATTRIBUTE(size_t, max_msg_size);
  GLOBAL_ATTRIBUTE(size_t, max_inject_size);
  GLOBAL_ATTRIBUTE(int, ibv_gid_idx);
  GLOBAL_ATTRIBUTE(bool, ibv_force_gid_auto_select);
  GLOBAL_ATTRIBUTE(std::string, device_name);
  GLOBAL_ATTRIBUTE(lci::attr_ibv_odp_strategy_t, ibv_odp_strategy);
  GLOBAL_ATTRIBUTE(lci::attr_ibv_prefetch_strategy_t, ibv_prefetch_strategy);
  GLOBAL_ATTRIBUTE(bool, use_dmabuf);
  GLOBAL_ATTRIBUTE(size_t, net_max_sends);
  GLOBAL_ATTRIBUTE(size_t, net_max_recvs);
  GLOBAL_ATTRIBUTE(size_t, net_max_cqes);
  GLOBAL_ATTRIBUTE(double, net_send_reserved_pct);
  GLOBAL_ATTRIBUTE(uint64_t, ofi_lock_mode);
  GLOBAL_ATTRIBUTE(bool, alloc_default_endpoint);
  GLOBAL_ATTRIBUTE(bool, alloc_progress_endpoint);
  GLOBAL_ATTRIBUTE(bool, use_reg_cache);
  GLOBAL_ATTRIBUTE(bool, shm_enable);
  GLOBAL_ATTRIBUTE(size_t, shm_ring_size);
  GLOBAL_ATTRIBUTE(size_t, shm_slot_size);
  GLOBAL_ATTRIBUTE(size_t, shm_producer_cas_attempts);
  GLOBAL_ATTRIBUTE(size_t, shm_consumer_cas_attempts);
  GLOBAL_ATTRIBUTE(size_t, shm_max_polls);
  GLOBAL_ATTRIBUTE(lci::attr_ibv_td_strategy_t, ibv_td_strategy);
}
