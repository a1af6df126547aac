// Packets, matching engines, the allocator, and the default resources.
#include <cstddef>
#include <cstdint>
#include <string>

#include "surface.h"

using namespace surface::argument;

void surface::check_resource_operations() {
  OPERATION(lci::packet_pool_t, alloc_packet_pool, ());
  SETTER(alloc_packet_pool, size_t, packet_size);
  SETTER(alloc_packet_pool, size_t, npackets);
  SETTER(alloc_packet_pool, const char*, name);
  SETTER(alloc_packet_pool, void*, user_context);
  SETTER(alloc_packet_pool, lci::runtime_t, runtime);

  OPERATION(void, free_packet_pool, (packet_pool_address));
  SETTER(free_packet_pool, lci::packet_pool_t*, packet_pool);
  SETTER(free_packet_pool, lci::runtime_t, runtime);

  OPERATION(void, register_packet_pool, (packet_pool, device));
  SETTER(register_packet_pool, lci::packet_pool_t, packet_pool);
  SETTER(register_packet_pool, lci::device_t, device);
  SETTER(register_packet_pool, lci::runtime_t, runtime);

  OPERATION(void, deregister_packet_pool, (packet_pool, device));
  SETTER(deregister_packet_pool, lci::packet_pool_t, packet_pool);
  SETTER(deregister_packet_pool, lci::device_t, device);
  SETTER(deregister_packet_pool, lci::runtime_t, runtime);

  OPERATION(void*, get_upacket, ());
  SETTER(get_upacket, lci::runtime_t, runtime);
  SETTER(get_upacket, lci::packet_pool_t, packet_pool);

  OPERATION(void, put_upacket, (buffer));
  SETTER(put_upacket, void*, packet);
  SETTER(put_upacket, lci::runtime_t, runtime);

  OPERATION(lci::matching_engine_t, alloc_matching_engine, ());
  SETTER(alloc_matching_engine, lci::attr_matching_engine_type_t, matching_engine_type);
  SETTER(alloc_matching_engine, const char*, name);
  SETTER(alloc_matching_engine, void*, user_context);
  SETTER(alloc_matching_engine, lci::runtime_t, runtime);

  OPERATION(void, free_matching_engine, (matching_engine_address));
  SETTER(free_matching_engine, lci::matching_engine_t*, matching_engine);
  SETTER(free_matching_engine, lci::runtime_t, runtime);

  OPERATION(lci::matching_entry_val_t, matching_engine_insert,
            (matching_engine, key, value, entry_type));
  SETTER(matching_engine_insert, lci::matching_engine_t, matching_engine);
  SETTER(matching_engine_insert, lci::matching_entry_key_t, key);
  SETTER(matching_engine_insert, lci::matching_entry_val_t, value);
  SETTER(matching_engine_insert, lci::matching_entry_type_t, entry_type);
  SETTER(matching_engine_insert, lci::runtime_t, runtime);

  OPERATION(void, set_allocator, (allocator));
  SETTER(set_allocator, lci::allocator_base_t*, allocator);
  SETTER(set_allocator, lci::runtime_t, runtime);

  OPERATION(lci::allocator_base_t*, get_allocator, ());
  SETTER(get_allocator, lci::runtime_t, runtime);

  OPERATION(lci::net_context_t, get_default_net_context, ());
  SETTER(get_default_net_context, lci::runtime_t, runtime);

  OPERATION(lci::device_t, get_default_device, ());
  SETTER(get_default_device, lci::runtime_t, runtime);

  OPERATION(lci::endpoint_t, get_default_endpoint, ());
  SETTER(get_default_endpoint, lci::runtime_t, runtime);
  SETTER(get_default_endpoint, lci::device_t, device);

  OPERATION(lci::packet_pool_t, get_default_packet_pool, ());
  SETTER(get_default_packet_pool, lci::runtime_t, runtime);

  OPERATION(lci::matching_engine_t, get_default_matching_engine, ());
  SETTER(get_default_matching_engine, lci::runtime_t, runtime);

  OPERATION(size_t, get_max_bcopy_size, ());
  SETTER(get_max_bcopy_size, lci::runtime_t, runtime);
  SETTER(get_max_bcopy_size, lci::packet_pool_t, packet_pool);
}
