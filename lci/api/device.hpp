// The resources that communication uses: net contexts, devices, endpoints, registered memory,
// packet pools and matching engines.
//
// What is allocated must be freed before what it was allocated from, in any order otherwise.
// Freeing a resource that is in use throws std::logic_error that says by what, and changes nothing.
// A default resource of a runtime is freed with it, and not by free_x.
#ifndef LCI_API_DEVICE_HPP_
#define LCI_API_DEVICE_HPP_

#include "lci/api/option.hpp"
#include "lci/api/resource.hpp"
#include "lci/api/types.hpp"

// Declares free_<resource>_x and free_<resource>(handle).
#define LCI_DECLARE_FREE(resource_)                                                       \
  class [[nodiscard]] free_##resource_##_x                                                \
      : public option::runtime_option<free_##resource_##_x>,                              \
        public argument::resource_##_argument<free_##resource_##_x, resource_##_t*> {     \
   public:                                                                                \
    [[nodiscard]] explicit free_##resource_##_x(resource_##_t* handle)                    \
        : argument::resource_##_argument<free_##resource_##_x, resource_##_t*>(handle) {} \
    void operator()() const;                                                              \
  };                                                                                      \
  inline void free_##resource_(resource_##_t* handle) { free_##resource_##_x{handle}(); }

// Declares get_default_<resource>_x and get_default_<resource>(), which throws std::logic_error if
// the runtime has none.
#define LCI_DECLARE_GET_DEFAULT(resource_)                           \
  class [[nodiscard]] get_default_##resource_##_x                    \
      : public option::runtime_option<get_default_##resource_##_x> { \
   public:                                                           \
    [[nodiscard]] get_default_##resource_##_x() = default;           \
    resource_##_t operator()() const;                                \
  };                                                                 \
  inline resource_##_t get_default_##resource_() { return get_default_##resource_##_x()(); }

#pragma GCC visibility push(default)

namespace lci {

// ---- net contexts
// --------------------------------------------------------------------------------

// Attaches this rank to a network once more. Collective over the ranks of the job, in the same
// order as other allocations of net contexts.
class [[nodiscard]] alloc_net_context_x
    : public option::runtime_option<alloc_net_context_x>,
      public option::net_context_attr_options<alloc_net_context_x> {
 public:
  [[nodiscard]] alloc_net_context_x() = default;
  net_context_t operator()() const;
};
inline net_context_t alloc_net_context() { return alloc_net_context_x()(); }
LCI_DECLARE_FREE(net_context)
LCI_DECLARE_GET_DEFAULT(net_context)

// ---- devices
// -------------------------------------------------------------------------------------

// Makes a device. Collective over the ranks of the job: each allocates the same number of devices.
// Several threads may allocate at the same time. Option packet_pool: what its messages are kept in.
class [[nodiscard]] alloc_device_x : public option::runtime_option<alloc_device_x>,
                                     public option::net_context_option<alloc_device_x>,
                                     public option::packet_pool_option<alloc_device_x>,
                                     public option::device_attr_options<alloc_device_x> {
 public:
  [[nodiscard]] alloc_device_x() = default;
  device_t operator()() const;
};
inline device_t alloc_device() { return alloc_device_x()(); }
// Frees a device with nothing under way on it (see wait_drained). Local: peers may free theirs
// earlier or later.
LCI_DECLARE_FREE(device)
LCI_DECLARE_GET_DEFAULT(device)

// ---- endpoints
// -----------------------------------------------------------------------------------

// Local.
class [[nodiscard]] alloc_endpoint_x : public option::runtime_option<alloc_endpoint_x>,
                                       public option::device_option<alloc_endpoint_x>,
                                       public option::endpoint_attr_options<alloc_endpoint_x> {
 public:
  [[nodiscard]] alloc_endpoint_x() = default;
  endpoint_t operator()() const;
};
inline endpoint_t alloc_endpoint() { return alloc_endpoint_x()(); }
LCI_DECLARE_FREE(endpoint)
class [[nodiscard]] get_default_endpoint_x : public option::runtime_option<get_default_endpoint_x>,
                                             public option::device_option<get_default_endpoint_x> {
 public:
  [[nodiscard]] get_default_endpoint_x() = default;
  endpoint_t operator()() const;  // throws if the device has none
};
inline endpoint_t get_default_endpoint() { return get_default_endpoint_x()(); }

// ---- registered memory
// ---------------------------------------------------------------------------

// Opens [address, address + size) to puts and gets of the other ranks, through every device of the
// device's net context. The memory must stay mapped until it is deregistered. Registrations may
// overlap. size may be 0. Throws std::runtime_error if the network refuses.
class [[nodiscard]] register_memory_x : public option::runtime_option<register_memory_x>,
                                        public option::device_option<register_memory_x>,
                                        public option::mr_attr_options<register_memory_x>,
                                        public argument::address_argument<register_memory_x, void*>,
                                        public argument::size_argument<register_memory_x, size_t> {
 public:
  [[nodiscard]] register_memory_x(void* address, size_t size)
      : address_argument(address), size_argument(size) {}
  mr_t operator()() const;
};
inline mr_t register_memory(void* address, size_t size) {
  return register_memory_x(address, size)();
}

// Allocates `size` bytes, zero, at a multiple of 4096, and registers them as register_memory does.
// Ranks of one host map each other's: their puts and gets to such memory are plain stores and
// loads, without a system call, many times faster than to other memory. size may be 0. What is not
// used takes no memory. Throws std::runtime_error if it cannot be had.
class [[nodiscard]] alloc_mr_x : public option::runtime_option<alloc_mr_x>,
                                 public option::device_option<alloc_mr_x>,
                                 public option::mr_attr_options<alloc_mr_x>,
                                 public argument::size_argument<alloc_mr_x, size_t> {
 public:
  [[nodiscard]] explicit alloc_mr_x(size_t size) : size_argument(size) {}
  mr_t operator()() const;
};
inline mr_t alloc_mr(size_t size) { return alloc_mr_x(size)(); }
// Frees memory and registration, like deregister_memory.
LCI_DECLARE_FREE(mr)

// Where registered memory begins, and how many bytes it has.
class [[nodiscard]] get_mr_address_x : public option::runtime_option<get_mr_address_x>,
                                       public argument::mr_argument<get_mr_address_x, mr_t> {
 public:
  [[nodiscard]] explicit get_mr_address_x(mr_t mr) : mr_argument(mr) {}
  void* operator()() const;
};
inline void* get_mr_address(mr_t mr) { return get_mr_address_x(mr)(); }
class [[nodiscard]] get_mr_size_x : public option::runtime_option<get_mr_size_x>,
                                    public argument::mr_argument<get_mr_size_x, mr_t> {
 public:
  [[nodiscard]] explicit get_mr_size_x(mr_t mr) : mr_argument(mr) {}
  size_t operator()() const;
};
inline size_t get_mr_size(mr_t mr) { return get_mr_size_x(mr)(); }

// The program sees to it that no peer puts to it or gets from it any more: such an operation fails
// at the peer.
class [[nodiscard]] deregister_memory_x : public option::runtime_option<deregister_memory_x>,
                                          public argument::mr_argument<deregister_memory_x, mr_t*> {
 public:
  [[nodiscard]] explicit deregister_memory_x(mr_t* mr) : mr_argument(mr) {}
  void operator()() const;
};
inline void deregister_memory(mr_t* mr) { deregister_memory_x{mr}(); }

class [[nodiscard]] get_rmr_x : public option::runtime_option<get_rmr_x>,
                                public argument::mr_argument<get_rmr_x, mr_t> {
 public:
  [[nodiscard]] explicit get_rmr_x(mr_t mr) : mr_argument(mr) {}
  rmr_t operator()() const;
};
inline rmr_t get_rmr(mr_t mr) { return get_rmr_x(mr)(); }

// ---- packet pools
// --------------------------------------------------------------------------------

// Local. Packets take memory when they are first used.
class [[nodiscard]] alloc_packet_pool_x
    : public option::runtime_option<alloc_packet_pool_x>,
      public option::packet_pool_attr_options<alloc_packet_pool_x> {
 public:
  [[nodiscard]] alloc_packet_pool_x() = default;
  packet_pool_t operator()() const;
};
inline packet_pool_t alloc_packet_pool() { return alloc_packet_pool_x()(); }
LCI_DECLARE_FREE(packet_pool)
LCI_DECLARE_GET_DEFAULT(packet_pool)

// Lets packets of a pool be sent through a device that was not allocated with it.
class [[nodiscard]] register_packet_pool_x
    : public option::runtime_option<register_packet_pool_x>,
      public argument::packet_pool_argument<register_packet_pool_x, packet_pool_t>,
      public argument::device_argument<register_packet_pool_x, device_t> {
 public:
  [[nodiscard]] register_packet_pool_x(packet_pool_t packet_pool, device_t device)
      : packet_pool_argument(packet_pool), device_argument(device) {}
  void operator()() const;
};
inline void register_packet_pool(packet_pool_t packet_pool, device_t device) {
  register_packet_pool_x(packet_pool, device)();
}
class [[nodiscard]] deregister_packet_pool_x
    : public option::runtime_option<deregister_packet_pool_x>,
      public argument::packet_pool_argument<deregister_packet_pool_x, packet_pool_t>,
      public argument::device_argument<deregister_packet_pool_x, device_t> {
 public:
  [[nodiscard]] deregister_packet_pool_x(packet_pool_t packet_pool, device_t device)
      : packet_pool_argument(packet_pool), device_argument(device) {}
  void operator()() const;
};
inline void deregister_packet_pool(packet_pool_t packet_pool, device_t device) {
  deregister_packet_pool_x(packet_pool, device)();
}

// A packet to assemble a message in: get_max_bcopy_size() bytes, aligned to 64. Null if the pool
// has none left. As local_buffer of a send or active message it saves a copy, and goes back to its
// pool by itself when the operation is complete: not the caller's any more from `done` or `posted`
// on, but after `retry` it still is. Else give it back with put_upacket.
class [[nodiscard]] get_upacket_x : public option::runtime_option<get_upacket_x>,
                                    public option::packet_pool_option<get_upacket_x> {
 public:
  [[nodiscard]] get_upacket_x() = default;
  void* operator()() const;
};
inline void* get_upacket() { return get_upacket_x()(); }

// Gives back a packet of get_upacket, or one in which an active message has arrived (zero_copy_am).
// Any thread; the program's last use of it.
class [[nodiscard]] put_upacket_x : public option::runtime_option<put_upacket_x>,
                                    public argument::packet_argument<put_upacket_x, void*> {
 public:
  [[nodiscard]] explicit put_upacket_x(void* packet) : packet_argument(packet) {}
  void operator()() const;
};
inline void put_upacket(void* packet) { put_upacket_x{packet}(); }

// The most bytes of a message that leaves by copy, whatever its tag.
class [[nodiscard]] get_max_bcopy_size_x : public option::runtime_option<get_max_bcopy_size_x>,
                                           public option::packet_pool_option<get_max_bcopy_size_x> {
 public:
  [[nodiscard]] get_max_bcopy_size_x() = default;
  size_t operator()() const;
};
inline size_t get_max_bcopy_size() { return get_max_bcopy_size_x()(); }

// ---- matching engines
// ----------------------------------------------------------------------------

// Local, but a send names the engine of the receiver by the order of allocation: all ranks allocate
// theirs in the same order, and no message is sent before the receiver has allocated it. At most
// 65535 in the life of a runtime.
class [[nodiscard]] alloc_matching_engine_x
    : public option::runtime_option<alloc_matching_engine_x>,
      public option::make_key_option<alloc_matching_engine_x>,
      public option::matching_engine_attr_options<alloc_matching_engine_x> {
 public:
  [[nodiscard]] alloc_matching_engine_x() = default;
  matching_engine_t operator()() const;
};
inline matching_engine_t alloc_matching_engine() { return alloc_matching_engine_x()(); }
LCI_DECLARE_FREE(matching_engine)
LCI_DECLARE_GET_DEFAULT(matching_engine)

// The engine by itself, without communication: pairs values (not null) of two kinds. Returns the
// value of the oldest waiting entry with this key and the other type, which is no longer in the
// engine; or null, and then this entry waits. Entries of this call and those of sends and receives
// do not see each other. Any thread.
class [[nodiscard]] matching_engine_insert_x
    : public option::runtime_option<matching_engine_insert_x>,
      public argument::matching_engine_argument<matching_engine_insert_x, matching_engine_t>,
      public argument::key_argument<matching_engine_insert_x, matching_entry_key_t>,
      public argument::value_argument<matching_engine_insert_x, matching_entry_val_t>,
      public argument::entry_type_argument<matching_engine_insert_x, matching_entry_type_t> {
 public:
  [[nodiscard]] matching_engine_insert_x(matching_engine_t matching_engine,
                                         matching_entry_key_t key, matching_entry_val_t value,
                                         matching_entry_type_t entry_type)
      : matching_engine_argument(matching_engine),
        key_argument(key),
        value_argument(value),
        entry_type_argument(entry_type) {}
  matching_entry_val_t operator()() const;
};
inline matching_entry_val_t matching_engine_insert(matching_engine_t matching_engine,
                                                   matching_entry_key_t key,
                                                   matching_entry_val_t value,
                                                   matching_entry_type_t entry_type) {
  return matching_engine_insert_x(matching_engine, key, value, entry_type)();
}

}  // namespace lci

#pragma GCC visibility pop

#undef LCI_DECLARE_FREE
#undef LCI_DECLARE_GET_DEFAULT

#endif  // LCI_API_DEVICE_HPP_
