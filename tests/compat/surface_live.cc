// The attributes of live resources: their defaults, and the values set at allocation.
#include "surface.h"

// The getter, the field of get_attr(), and the value.
#define ATTRIBUTE_IS(handle_, name_, ...)                               \
  surface::check(handle_.get_attr_##name_() == (__VA_ARGS__), #handle_, \
                 ".get_attr_" #name_ "() is not " #__VA_ARGS__);        \
  surface::check(handle_.get_attr().name_ == (__VA_ARGS__), #handle_,   \
                 ".get_attr()." #name_ " is not " #__VA_ARGS__)

void surface::check_live_attributes() {
  const lci::global_attr_t defaults = lci::get_g_default_attr();
  CHECK(LCI_PACKET_SIZE_DEFAULT == defaults.packet_size);
  CHECK(defaults.packet_return_threshold == 4096);
  CHECK(defaults.imm_nbits_tag == 16);
  CHECK(defaults.imm_nbits_rcomp == 15);
  CHECK(defaults.rdv_protocol == lci::attr_rdv_protocol_t::auto_select);
  CHECK(defaults.alloc_default_device);
  CHECK(defaults.alloc_default_packet_pool);
  CHECK(defaults.alloc_default_matching_engine);
  CHECK(defaults.packet_size == 8192);
  CHECK(defaults.npackets == 65536);
  CHECK(defaults.matching_engine_type == lci::attr_matching_engine_type_t::map);
  CHECK(defaults.sync_threshold == 1);
  CHECK(!defaults.zero_copy_am);
  CHECK(defaults.cq_type == lci::attr_cq_type_t::lcrq);
  CHECK(defaults.cq_default_length == 65536);
  CHECK(defaults.max_msg_size >= size_t{1} << 30);
  CHECK(defaults.max_inject_size == 64);
  CHECK(defaults.ibv_gid_idx == -1);
  CHECK(!defaults.ibv_force_gid_auto_select);
  CHECK(defaults.device_name.empty());
  CHECK(defaults.ibv_odp_strategy == lci::attr_ibv_odp_strategy_t::none);
  CHECK(defaults.ibv_prefetch_strategy == lci::attr_ibv_prefetch_strategy_t::none);
  CHECK(defaults.use_dmabuf);
  CHECK(defaults.net_max_sends > 0);
  CHECK(defaults.net_max_recvs > 0);
  CHECK(defaults.net_max_cqes > 0);
  CHECK(defaults.net_send_reserved_pct == 0.25);
  CHECK(defaults.alloc_default_endpoint);
  CHECK(!defaults.alloc_progress_endpoint);
  CHECK(defaults.ibv_td_strategy == lci::attr_ibv_td_strategy_t::per_qp);
  CHECK(defaults.shm_enable);
  CHECK(defaults.shm_ring_size > 0);
  CHECK(defaults.shm_slot_size > 0);
  CHECK(defaults.shm_producer_cas_attempts > 0);
  CHECK(defaults.shm_consumer_cas_attempts > 0);
  CHECK(defaults.shm_max_polls > 0);
  CHECK(lci::g_default_attr.npackets == defaults.npackets);
  CHECK(lci::g_default_attr.net_max_recvs == defaults.net_max_recvs);

  const lci::runtime_t runtime = lci::get_g_runtime();
  CHECK(runtime == lci::get_g_runtime_x()());
  CHECK(!runtime.is_empty());
  ATTRIBUTE_IS(runtime, packet_return_threshold, 4096);
  ATTRIBUTE_IS(runtime, imm_nbits_tag, 16);
  ATTRIBUTE_IS(runtime, imm_nbits_rcomp, 15);
  ATTRIBUTE_IS(runtime, max_imm_tag, (uint64_t{1} << 16) - 1);
  ATTRIBUTE_IS(runtime, max_imm_rcomp, (uint64_t{1} << 15) - 1);
  CHECK(runtime.get_attr_max_tag() >= 0xffffffffu);
  CHECK(runtime.get_attr_max_rcomp() >= 0x7fffffffu);
  ATTRIBUTE_IS(runtime, alloc_default_device, true);
  ATTRIBUTE_IS(runtime, alloc_default_packet_pool, true);
  ATTRIBUTE_IS(runtime, alloc_default_matching_engine, true);
  ATTRIBUTE_IS(runtime, name, std::string("surface"));
  ATTRIBUTE_IS(runtime, user_context, static_cast<void*>(nullptr));

  const lci::packet_pool_t packet_pool = lci::get_default_packet_pool();
  ATTRIBUTE_IS(packet_pool, packet_size, 8192);
  ATTRIBUTE_IS(packet_pool, npackets, 65536);
  ATTRIBUTE_IS(packet_pool, user_context, static_cast<void*>(nullptr));
  CHECK(lci::get_max_bcopy_size() > 1024);
  CHECK(lci::get_max_bcopy_size() <= packet_pool.get_attr_packet_size());

  const lci::matching_engine_t matching_engine = lci::get_default_matching_engine();
  ATTRIBUTE_IS(matching_engine, matching_engine_type, lci::attr_matching_engine_type_t::map);
  ATTRIBUTE_IS(matching_engine, user_context, static_cast<void*>(nullptr));

  const lci::net_context_t net_context = lci::get_default_net_context();
  CHECK(net_context.get_attr_backend() != lci::attr_backend_t::none);
  ATTRIBUTE_IS(net_context, ibv_gid_idx, -1);
  ATTRIBUTE_IS(net_context, device_name, std::string());
  ATTRIBUTE_IS(net_context, ibv_odp_strategy, lci::attr_ibv_odp_strategy_t::none);
  ATTRIBUTE_IS(net_context, use_dmabuf, true);
  CHECK(net_context.get_attr_max_msg_size() >= size_t{1} << 30);
  CHECK(net_context.get_attr_max_inject_size() >= 64);
  CHECK(net_context.get_attr_support_putimm() == net_context.get_attr().support_putimm);

  const lci::device_t device = lci::get_default_device();
  ATTRIBUTE_IS(device, net_max_sends, defaults.net_max_sends);
  ATTRIBUTE_IS(device, net_max_recvs, defaults.net_max_recvs);
  ATTRIBUTE_IS(device, net_max_cqes, defaults.net_max_cqes);
  ATTRIBUTE_IS(device, net_send_reserved_pct, 0.25);
  ATTRIBUTE_IS(device, alloc_default_endpoint, true);
  ATTRIBUTE_IS(device, alloc_progress_endpoint, false);
  ATTRIBUTE_IS(device, ibv_td_strategy, lci::attr_ibv_td_strategy_t::per_qp);
  CHECK(device.get_attr_uid() >= 0);
  CHECK(lci::get_default_endpoint().get_attr_uid() >= 0);
  CHECK(!lci::get_default_endpoint_x().device(device)().is_empty());
}

void surface::check_live_handles() {
  int context = 0;
  lci::comp_t sync = lci::alloc_sync_x().threshold(3).name("the sync").user_context(&context)();
  ATTRIBUTE_IS(sync, comp_type, lci::attr_comp_type_t::sync);
  ATTRIBUTE_IS(sync, sync_threshold, 3);
  ATTRIBUTE_IS(sync, zero_copy_am, false);
  ATTRIBUTE_IS(sync, name, std::string("the sync"));
  ATTRIBUTE_IS(sync, user_context, &context);
  lci::comp_t cq = lci::alloc_cq_x().default_length(100).zero_copy_am(true).cq_type(
      lci::attr_cq_type_t::array_atomic)();
  ATTRIBUTE_IS(cq, comp_type, lci::attr_comp_type_t::cq);
  ATTRIBUTE_IS(cq, zero_copy_am, true);
  ATTRIBUTE_IS(cq, cq_type, lci::attr_cq_type_t::array_atomic);
  lci::comp_t counter = lci::alloc_counter();
  ATTRIBUTE_IS(counter, comp_type, lci::attr_comp_type_t::counter);
  lci::comp_t handler = lci::alloc_handler([](lci::status_t) {});
  ATTRIBUTE_IS(handler, comp_type, lci::attr_comp_type_t::handler);
  lci::comp_t graph = lci::alloc_graph_x().user_context(&context)();
  ATTRIBUTE_IS(graph, comp_type, lci::attr_comp_type_t::graph);
  ATTRIBUTE_IS(graph, user_context, &context);

  // The address of one, as programs keep it between their own functions.
  void* opaque = reinterpret_cast<void*>(cq.get_impl());
  const lci::comp_t again(opaque);
  CHECK(again == cq);
  CHECK(again.get_attr_comp_type() == lci::attr_comp_type_t::cq);

  CHECK(lci::get_allocator() == &lci::g_allocator_default);
  for (lci::comp_t* each : {&sync, &cq, &counter, &handler, &graph}) {
    lci::free_comp(each);
    CHECK(each->is_empty());
  }
}

void surface::check_live_setters() {
  int context = 0;
  lci::packet_pool_t pool = lci::alloc_packet_pool_x()
                                .packet_size(4096)
                                .npackets(512)
                                .name("the pool")
                                .user_context(&context)();
  ATTRIBUTE_IS(pool, packet_size, 4096);
  ATTRIBUTE_IS(pool, npackets, 512);
  ATTRIBUTE_IS(pool, name, std::string("the pool"));
  ATTRIBUTE_IS(pool, user_context, &context);

  lci::matching_engine_t engine = lci::alloc_matching_engine_x()
                                      .matching_engine_type(lci::attr_matching_engine_type_t::queue)
                                      .name("the engine")();
  ATTRIBUTE_IS(engine, matching_engine_type, lci::attr_matching_engine_type_t::queue);
  ATTRIBUTE_IS(engine, name, std::string("the engine"));

  // Every attribute of a device that can be set. Those that mean nothing to the backend are kept.
  lci::device_t device = lci::alloc_device_x()
                             .net_max_sends(256)
                             .net_max_recvs(512)
                             .net_max_cqes(4096)
                             .net_send_reserved_pct(0.5)
                             .ofi_lock_mode(lci::LCI_NET_TRYLOCK_SEND | lci::LCI_NET_TRYLOCK_POLL)
                             .alloc_default_endpoint(true)
                             .use_reg_cache(false)
                             .shm_enable(true)
                             .shm_ring_size(size_t{1} << 16)
                             .shm_slot_size(256)
                             .shm_producer_cas_attempts(7)
                             .shm_consumer_cas_attempts(9)
                             .shm_max_polls(8)
                             .ibv_td_strategy(lci::attr_ibv_td_strategy_t::all_qp)
                             .name("the device")
                             .user_context(&context)();
  ATTRIBUTE_IS(device, net_max_sends, 256);
  ATTRIBUTE_IS(device, net_max_recvs, 512);
  ATTRIBUTE_IS(device, net_max_cqes, 4096);
  ATTRIBUTE_IS(device, net_send_reserved_pct, 0.5);
  ATTRIBUTE_IS(device, ofi_lock_mode, 5);
  ATTRIBUTE_IS(device, alloc_default_endpoint, true);
  ATTRIBUTE_IS(device, use_reg_cache, false);
  ATTRIBUTE_IS(device, shm_enable, true);
  ATTRIBUTE_IS(device, shm_ring_size, size_t{1} << 16);
  ATTRIBUTE_IS(device, shm_slot_size, 256);
  ATTRIBUTE_IS(device, shm_producer_cas_attempts, 7);
  ATTRIBUTE_IS(device, shm_consumer_cas_attempts, 9);
  ATTRIBUTE_IS(device, shm_max_polls, 8);
  ATTRIBUTE_IS(device, ibv_td_strategy, lci::attr_ibv_td_strategy_t::all_qp);
  ATTRIBUTE_IS(device, name, std::string("the device"));
  ATTRIBUTE_IS(device, user_context, &context);

  lci::endpoint_t endpoint =
      lci::alloc_endpoint_x().device(device).name("the endpoint").user_context(&context)();
  ATTRIBUTE_IS(endpoint, name, std::string("the endpoint"));
  ATTRIBUTE_IS(endpoint, user_context, &context);

  char bytes[64];
  lci::mr_t mr = lci::register_memory_x(bytes, sizeof(bytes)).device(device)();
  ATTRIBUTE_IS(mr, user_context, static_cast<void*>(nullptr));
  CHECK(!mr.is_empty());
  CHECK(!lci::get_rmr(mr).is_empty());
  lci::deregister_memory(&mr);
  CHECK(mr.is_empty());
  lci::free_endpoint(&endpoint);
  CHECK(endpoint.is_empty());
  lci::free_device(&device);
  CHECK(device.is_empty());
  lci::free_matching_engine(&engine);
  CHECK(engine.is_empty());
  lci::free_packet_pool(&pool);
  CHECK(pool.is_empty());

  // The next resource is made with the values that were set as global defaults.
  const lci::global_attr_t before = lci::get_g_default_attr();
  lci::global_attr_t changed = before;
  changed.npackets = 1024;
  changed.sync_threshold = 2;
  lci::set_g_default_attr(changed);
  CHECK(lci::g_default_attr.npackets == 1024);
  lci::packet_pool_t small = lci::alloc_packet_pool();
  ATTRIBUTE_IS(small, npackets, 1024);
  lci::comp_t two = lci::alloc_sync();
  ATTRIBUTE_IS(two, sync_threshold, 2);
  lci::free_comp(&two);
  lci::free_packet_pool_x(&small).runtime(lci::get_g_runtime())();
  lci::set_g_default_attr(before);
  CHECK(lci::get_g_default_attr().npackets == before.npackets);

  // Setters as statements of an object with a name, in any order, and again before the next call.
  auto op = lci::alloc_sync_x();
  op.threshold(2);
  op.name("first");
  lci::comp_t first = op();
  const auto copy = op;
  op.threshold(5).name("second");
  lci::comp_t second = op.call();
  lci::comp_t third = copy();
  CHECK(first.get_attr_sync_threshold() == 2);
  CHECK(second.get_attr_sync_threshold() == 5);
  CHECK(third.get_attr_sync_threshold() == 2);
  CHECK(std::string(first.get_attr_name()) == "first");
  CHECK(std::string(second.get_attr_name()) == "second");
  for (lci::comp_t* each : {&first, &second, &third})
    lci::free_comp_x(each).runtime(lci::get_g_runtime())();
}
