/// @file
/// The resources that communication uses: net contexts, devices, endpoints, registered memory,
/// packet pools and matching engines.

/// @defgroup lci_devices Devices and other resources
/// The resources that communication uses: net contexts, devices, endpoints, packet pools and
/// matching engines. (SC'25 paper, sections 4.2.3 and 5.1)
///
/// A resource must be freed before the resource from which it was allocated, and in any order
/// otherwise. The attempt to free a resource that is in use throws std::logic_error, which names
/// the users, and changes nothing. A default resource is freed with its runtime, and not by its
/// `free` operation.

/// @defgroup lci_memory Registered memory
/// Memory that other ranks can put to and get from.
#ifndef LCI_API_DEVICE_HPP_
#define LCI_API_DEVICE_HPP_

#include "lci/api/option.hpp"
#include "lci/api/resource.hpp"
#include "lci/api/types.hpp"

// Declares free_<resource>_x and free_<resource>(handle).
#define LCI_DECLARE_FREE(resource_)                                                                 \
  class [[nodiscard]] free_##resource_##_x                                                          \
      : public option::runtime_option<free_##resource_##_x>,                                        \
        public argument::resource_##_argument<free_##resource_##_x, resource_##_t*> {               \
   public:                                                                                          \
    /** Takes the required arguments. */                                                            \
    [[nodiscard]] explicit free_##resource_##_x(resource_##_t* handle)                              \
        : argument::resource_##_argument<free_##resource_##_x, resource_##_t*>(handle) {}           \
    /** Frees the resource, and empties the handle.                                               \
       \throws std::logic_error if the library finds the resource in use, or it is a default one. \
       \throws std::invalid_argument if the handle is empty, the resource has been freed, or      \
         it belongs to another runtime than the option names. */ \
    void operator()() const;                                                                        \
  };                                                                                                \
  /** free_##resource_##_x with the default of every option.                                      \
     \relates free_##resource_##_x */ \
  inline void free_##resource_(resource_##_t* handle) { free_##resource_##_x{handle}(); }

// Declares get_default_<resource>_x and get_default_<resource>().
#define LCI_DECLARE_GET_DEFAULT(resource_)                             \
  class [[nodiscard]] get_default_##resource_##_x                      \
      : public option::runtime_option<get_default_##resource_##_x> {   \
   public:                                                             \
    /** Sets every option to its default. */                           \
    [[nodiscard]] get_default_##resource_##_x() = default;             \
    /** Returns the resource, which the runtime owns.                \
       \throws std::logic_error if the runtime has none. */ \
    resource_##_t operator()() const;                                  \
  };                                                                   \
  /** get_default_##resource_##_x with the default of every option.  \
     \relates get_default_##resource_##_x */ \
  inline resource_##_t get_default_##resource_() { return get_default_##resource_##_x()(); }

#pragma GCC visibility push(default)

namespace lci {

/// @addtogroup lci_devices
/// @{

/// Allocates a net context: attaches this rank to a network once more. Collective over the ranks of
/// the job, in the same order as other allocations of net contexts.
///
/// Options: `runtime`, and the attributes of a net context; see option::net_context_attr_options.
class [[nodiscard]] alloc_net_context_x
    : public option::runtime_option<alloc_net_context_x>,
      public option::net_context_attr_options<alloc_net_context_x> {
 public:
  /// Sets every option to its default.
  [[nodiscard]] alloc_net_context_x() = default;
  /// Allocates the net context.
  /// @return the net context. The program frees it by free_net_context.
  /// @throws std::runtime_error if the backend is not available or the network cannot be used; the
  ///   text names the rank and the reason.
  /// @throws std::invalid_argument if an attribute is out of its range.
  net_context_t operator()() const;
};
/// alloc_net_context_x with the default of every option.
/// @relates alloc_net_context_x
inline net_context_t alloc_net_context() { return alloc_net_context_x()(); }

/// Frees a net context. Its devices and registered memory must have been freed. Local.
///
/// Required: `net_context`. Options: `runtime`.
LCI_DECLARE_FREE(net_context)

/// Returns the default net context of a runtime. Thread-safe.
///
/// Options: `runtime`.
LCI_DECLARE_GET_DEFAULT(net_context)

/// Allocates a device. Collective over the ranks of the job: each rank allocates the same number of
/// devices. Several threads may allocate devices at the same time.
///
/// Options: `runtime`, `net_context`, `packet_pool` (the pool of the packets in which the device
/// holds messages; default: the one of the runtime), and the attributes of a device; see
/// option::device_attr_options.
class [[nodiscard]] alloc_device_x : public option::runtime_option<alloc_device_x>,
                                     public option::net_context_option<alloc_device_x>,
                                     public option::packet_pool_option<alloc_device_x>,
                                     public option::device_attr_options<alloc_device_x> {
 public:
  /// Sets every option to its default.
  [[nodiscard]] alloc_device_x() = default;
  /// Allocates the device.
  /// @return the device. The program frees it by free_device.
  /// @throws std::invalid_argument if an attribute is out of its range, or a resource belongs to
  ///   another runtime.
  /// @throws std::runtime_error if the network cannot make the device.
  device_t operator()() const;
};
/// alloc_device_x with the default of every option.
/// @relates alloc_device_x
inline device_t alloc_device() { return alloc_device_x()(); }

/// Frees a device on which no operation is in progress (see wait_drained), and whose endpoints have
/// been freed. Local: peers may free theirs earlier or later.
///
/// Required: `device`. Options: `runtime`.
LCI_DECLARE_FREE(device)

/// Returns the default device of a runtime. Thread-safe.
///
/// Options: `runtime`.
LCI_DECLARE_GET_DEFAULT(device)

/// Allocates an endpoint of a device. Local.
///
/// Options: `runtime`, `device`, and the attributes of an endpoint; see
/// option::endpoint_attr_options.
class [[nodiscard]] alloc_endpoint_x : public option::runtime_option<alloc_endpoint_x>,
                                       public option::device_option<alloc_endpoint_x>,
                                       public option::endpoint_attr_options<alloc_endpoint_x> {
 public:
  /// Sets every option to its default.
  [[nodiscard]] alloc_endpoint_x() = default;
  /// Allocates the endpoint.
  /// @return the endpoint. The program frees it by free_endpoint.
  endpoint_t operator()() const;
};
/// alloc_endpoint_x with the default of every option.
/// @relates alloc_endpoint_x
inline endpoint_t alloc_endpoint() { return alloc_endpoint_x()(); }

/// Frees an endpoint. Local.
///
/// Required: `endpoint`. Options: `runtime`.
LCI_DECLARE_FREE(endpoint)

/// Returns the default endpoint of a device. The device owns it.
///
/// Options: `runtime`, `device`.
class [[nodiscard]] get_default_endpoint_x : public option::runtime_option<get_default_endpoint_x>,
                                             public option::device_option<get_default_endpoint_x> {
 public:
  /// Sets every option to its default.
  [[nodiscard]] get_default_endpoint_x() = default;
  /// Returns the endpoint.
  /// @throws std::logic_error if the device has none.
  endpoint_t operator()() const;
};
/// get_default_endpoint_x with the default of every option.
/// @relates get_default_endpoint_x
inline endpoint_t get_default_endpoint() { return get_default_endpoint_x()(); }

/// @}

/// @addtogroup lci_memory
/// @{

/// Registers the memory from `address` to `address` + `size`: opens it to puts and gets of the
/// other ranks, through every device of the net context of `device`. The memory must stay mapped
/// until it is deregistered. Registrations may overlap. Local and thread-safe.
///
/// Required: `address`, `size`. Options: `runtime`, `device`, `name`, `user_context`.
class [[nodiscard]] register_memory_x : public option::runtime_option<register_memory_x>,
                                        public option::device_option<register_memory_x>,
                                        public option::mr_attr_options<register_memory_x>,
                                        public argument::address_argument<register_memory_x, void*>,
                                        public argument::size_argument<register_memory_x, size_t> {
 public:
  /// Takes the required arguments.
  /// @param size bytes; may be 0.
  [[nodiscard]] register_memory_x(void* address, size_t size)
      : address_argument(address), size_argument(size) {}
  /// Registers the memory.
  /// @return the registration. The program ends it by deregister_memory.
  /// @throws std::invalid_argument if `address` is null and `size` is not 0.
  /// @throws std::runtime_error if the network refuses the registration.
  mr_t operator()() const;
};
/// register_memory_x with the default of every option.
/// @relates register_memory_x
inline mr_t register_memory(void* address, size_t size) {
  return register_memory_x(address, size)();
}

/// Allocates `size` bytes, which are zero, at an address that is a multiple of 4096, and registers
/// them as register_memory does. The ranks of a host map such memory of each other: their puts and
/// gets to it are plain stores and loads, without a system call, and many times faster than those
/// to other memory. Memory that is not used takes no space. Local and thread-safe.
///
/// Required: `size`. Options: `runtime`, `device`, `name`, `user_context`.
class [[nodiscard]] alloc_mr_x : public option::runtime_option<alloc_mr_x>,
                                 public option::device_option<alloc_mr_x>,
                                 public option::mr_attr_options<alloc_mr_x>,
                                 public argument::size_argument<alloc_mr_x, size_t> {
 public:
  /// Takes the required arguments.
  /// @param size bytes; may be 0.
  [[nodiscard]] explicit alloc_mr_x(size_t size) : size_argument(size) {}
  /// Allocates the memory.
  /// @return the registration; get_mr_address returns the address. The program frees both by
  ///   free_mr.
  /// @throws std::runtime_error if there is no such memory, or the network refuses the
  ///   registration.
  mr_t operator()() const;
};
/// alloc_mr_x with the default of every option.
/// @relates alloc_mr_x
inline mr_t alloc_mr(size_t size) { return alloc_mr_x(size)(); }

/// Frees memory of alloc_mr and its registration. The program ensures that no peer puts to the
/// memory or gets from it anymore: such an operation fails at the peer. Local and thread-safe.
/// std::invalid_argument: the memory is of register_memory.
///
/// Required: `mr`. Options: `runtime`.
LCI_DECLARE_FREE(mr)

/// Returns the address of registered memory. Thread-safe.
///
/// Required: `mr`. Options: `runtime`.
class [[nodiscard]] get_mr_address_x : public option::runtime_option<get_mr_address_x>,
                                       public argument::mr_argument<get_mr_address_x, mr_t> {
 public:
  /// Takes the required arguments.
  [[nodiscard]] explicit get_mr_address_x(mr_t mr) : mr_argument(mr) {}
  /// Returns the address.
  /// @throws std::invalid_argument if the handle is empty, MR_DEVICE or MR_UNKNOWN, or the memory
  ///   has been deregistered.
  void* operator()() const;
};
/// get_mr_address_x with the default of every option.
/// @relates get_mr_address_x
inline void* get_mr_address(mr_t mr) { return get_mr_address_x(mr)(); }

/// Returns the size of registered memory. Thread-safe.
///
/// Required: `mr`. Options: `runtime`.
class [[nodiscard]] get_mr_size_x : public option::runtime_option<get_mr_size_x>,
                                    public argument::mr_argument<get_mr_size_x, mr_t> {
 public:
  /// Takes the required arguments.
  [[nodiscard]] explicit get_mr_size_x(mr_t mr) : mr_argument(mr) {}
  /// Returns the size, in bytes.
  /// @throws std::invalid_argument if the handle is empty, MR_DEVICE or MR_UNKNOWN, or the memory
  ///   has been deregistered.
  size_t operator()() const;
};
/// get_mr_size_x with the default of every option.
/// @relates get_mr_size_x
inline size_t get_mr_size(mr_t mr) { return get_mr_size_x(mr)(); }

/// Ends a registration of register_memory, and empties the handle. The program ensures that no peer
/// puts to the memory or gets from it anymore: such an operation fails at the peer. Local and
/// thread-safe.
///
/// Required: `mr`. Options: `runtime`.
class [[nodiscard]] deregister_memory_x : public option::runtime_option<deregister_memory_x>,
                                          public argument::mr_argument<deregister_memory_x, mr_t*> {
 public:
  /// Takes the required arguments.
  [[nodiscard]] explicit deregister_memory_x(mr_t* mr) : mr_argument(mr) {}
  /// Ends the registration.
  /// @throws std::invalid_argument if the handle is empty, MR_DEVICE or MR_UNKNOWN, or the memory
  ///   has been deregistered, or the memory is of alloc_mr.
  void operator()() const;
};
/// deregister_memory_x with the default of every option.
/// @relates deregister_memory_x
inline void deregister_memory(mr_t* mr) { deregister_memory_x{mr}(); }

/// Returns the name of registered memory for other ranks. Thread-safe.
///
/// Required: `mr`. Options: `runtime`.
class [[nodiscard]] get_rmr_x : public option::runtime_option<get_rmr_x>,
                                public argument::mr_argument<get_rmr_x, mr_t> {
 public:
  /// Takes the required arguments.
  [[nodiscard]] explicit get_rmr_x(mr_t mr) : mr_argument(mr) {}
  /// Returns the name; see rmr_t.
  /// @throws std::invalid_argument if the handle is empty, MR_DEVICE or MR_UNKNOWN, or the memory
  ///   has been deregistered.
  /// @throws std::runtime_error if an rmr_t cannot hold the name; register less than 64 TiB at a
  ///   time, or choose another backend.
  rmr_t operator()() const;
};
/// get_rmr_x with the default of every option.
/// @relates get_rmr_x
inline rmr_t get_rmr(mr_t mr) { return get_rmr_x(mr)(); }

/// @}

/// @addtogroup lci_devices
/// @{

/// Allocates a packet pool. Local. A packet takes memory from its first use on.
///
/// Options: `runtime`, and the attributes of a packet pool; see option::packet_pool_attr_options.
class [[nodiscard]] alloc_packet_pool_x
    : public option::runtime_option<alloc_packet_pool_x>,
      public option::packet_pool_attr_options<alloc_packet_pool_x> {
 public:
  /// Sets every option to its default.
  [[nodiscard]] alloc_packet_pool_x() = default;
  /// Allocates the pool.
  /// @return the pool. The program frees it by free_packet_pool.
  /// @throws std::invalid_argument if an attribute is out of its range.
  /// @throws std::bad_alloc if there are no addresses for the packets.
  packet_pool_t operator()() const;
};
/// alloc_packet_pool_x with the default of every option.
/// @relates alloc_packet_pool_x
inline packet_pool_t alloc_packet_pool() { return alloc_packet_pool_x()(); }

/// Frees a packet pool. The devices that use it must have been freed, and all of its packets
/// returned. Local.
///
/// Required: `packet_pool`. Options: `runtime`.
LCI_DECLARE_FREE(packet_pool)

/// Returns the default packet pool of a runtime. Thread-safe.
///
/// Options: `runtime`.
LCI_DECLARE_GET_DEFAULT(packet_pool)

/// Lets packets of a pool be sent through a device that was allocated with another pool. Local.
///
/// Required: `packet_pool`, `device`. Options: `runtime`.
class [[nodiscard]] register_packet_pool_x
    : public option::runtime_option<register_packet_pool_x>,
      public argument::packet_pool_argument<register_packet_pool_x, packet_pool_t>,
      public argument::device_argument<register_packet_pool_x, device_t> {
 public:
  /// Takes the required arguments.
  [[nodiscard]] register_packet_pool_x(packet_pool_t packet_pool, device_t device)
      : packet_pool_argument(packet_pool), device_argument(device) {}
  /// Registers the pool.
  /// @throws std::invalid_argument if a handle is empty, or the pool and the device belong to
  ///   different runtimes.
  void operator()() const;
};
/// register_packet_pool_x with the default of every option.
/// @relates register_packet_pool_x
inline void register_packet_pool(packet_pool_t packet_pool, device_t device) {
  register_packet_pool_x(packet_pool, device)();
}

/// Undoes register_packet_pool. Local.
///
/// Required: `packet_pool`, `device`. Options: `runtime`.
class [[nodiscard]] deregister_packet_pool_x
    : public option::runtime_option<deregister_packet_pool_x>,
      public argument::packet_pool_argument<deregister_packet_pool_x, packet_pool_t>,
      public argument::device_argument<deregister_packet_pool_x, device_t> {
 public:
  /// Takes the required arguments.
  [[nodiscard]] deregister_packet_pool_x(packet_pool_t packet_pool, device_t device)
      : packet_pool_argument(packet_pool), device_argument(device) {}
  /// Deregisters the pool.
  /// @throws std::invalid_argument if a handle is empty.
  /// @throws std::logic_error if the device was allocated with this pool.
  void operator()() const;
};
/// deregister_packet_pool_x with the default of every option.
/// @relates deregister_packet_pool_x
inline void deregister_packet_pool(packet_pool_t packet_pool, device_t device) {
  deregister_packet_pool_x(packet_pool, device)();
}

/// Takes a packet from a pool, to assemble a message in: get_max_bcopy_size() bytes, aligned to 64.
/// Thread-safe.
///
/// As the local buffer of a send, active message or put, a packet saves a copy, and returns to its
/// pool when the operation is complete: after `done` or `posted` the library owns it; after `retry`
/// the caller still does. The program returns any other packet by put_upacket.
///
/// Options: `runtime`, `packet_pool`.
class [[nodiscard]] get_upacket_x : public option::runtime_option<get_upacket_x>,
                                    public option::packet_pool_option<get_upacket_x> {
 public:
  /// Sets every option to its default.
  [[nodiscard]] get_upacket_x() = default;
  /// Takes a packet.
  /// @return the packet, or null if none was found.
  /// @throws std::logic_error if the runtime has no default packet pool and none is given.
  void* operator()() const;
};
/// get_upacket_x with the default of every option.
/// @relates get_upacket_x
inline void* get_upacket() { return get_upacket_x()(); }

/// Returns a packet of get_upacket to its pool, or one in which an active message has arrived
/// (`zero_copy_am`). The program must not use it afterward. Any thread may return any packet.
///
/// Required: `packet`. Options: `runtime`.
class [[nodiscard]] put_upacket_x : public option::runtime_option<put_upacket_x>,
                                    public argument::packet_argument<put_upacket_x, void*> {
 public:
  /// Takes the required arguments.
  [[nodiscard]] explicit put_upacket_x(void* packet) : packet_argument(packet) {}
  /// Returns the packet.
  /// @throws std::invalid_argument if this is not a packet.
  void operator()() const;
};
/// put_upacket_x with the default of every option.
/// @relates put_upacket_x
inline void put_upacket(void* packet) { put_upacket_x{packet}(); }

/// Returns the size of the largest message that is sent by copy, whatever its tag. Thread-safe.
///
/// Options: `runtime`, `packet_pool`.
class [[nodiscard]] get_max_bcopy_size_x : public option::runtime_option<get_max_bcopy_size_x>,
                                           public option::packet_pool_option<get_max_bcopy_size_x> {
 public:
  /// Sets every option to its default.
  [[nodiscard]] get_max_bcopy_size_x() = default;
  /// Returns the size, in bytes.
  /// @throws std::logic_error if the runtime has no default packet pool and none is given.
  size_t operator()() const;
};
/// get_max_bcopy_size_x with the default of every option.
/// @relates get_max_bcopy_size_x
inline size_t get_max_bcopy_size() { return get_max_bcopy_size_x()(); }

/// Allocates a matching engine. Local; but a send names the matching engine of the receiver by the
/// order of allocation: all ranks allocate theirs in the same order, and no message may be sent
/// before the receiver has allocated its matching engine. A runtime makes at most 65535 matching
/// engines in its life, its own included.
///
/// Options: `runtime`, `make_key`, and the attributes of a matching engine; see
/// option::matching_engine_attr_options.
class [[nodiscard]] alloc_matching_engine_x
    : public option::runtime_option<alloc_matching_engine_x>,
      public option::make_key_option<alloc_matching_engine_x>,
      public option::matching_engine_attr_options<alloc_matching_engine_x> {
 public:
  /// Sets every option to its default.
  [[nodiscard]] alloc_matching_engine_x() = default;
  /// Allocates the matching engine.
  /// @return the matching engine. The program frees it by free_matching_engine.
  /// @throws std::runtime_error if the runtime can make no more matching engines.
  matching_engine_t operator()() const;
};
/// alloc_matching_engine_x with the default of every option.
/// @relates alloc_matching_engine_x
inline matching_engine_t alloc_matching_engine() { return alloc_matching_engine_x()(); }

/// Frees a matching engine in which no send or receive waits. Local.
///
/// Required: `matching_engine`. Options: `runtime`.
LCI_DECLARE_FREE(matching_engine)

/// Returns the default matching engine of a runtime. Thread-safe.
///
/// Options: `runtime`.
LCI_DECLARE_GET_DEFAULT(matching_engine)

/// Uses a matching engine by itself, without communication: pairs values of two kinds. Entries of
/// this operation and those of sends and receives do not match each other. Thread-safe.
///
/// Required: `matching_engine`, `key`, `value`, `entry_type`. Options: `runtime`.
class [[nodiscard]] matching_engine_insert_x
    : public option::runtime_option<matching_engine_insert_x>,
      public argument::matching_engine_argument<matching_engine_insert_x, matching_engine_t>,
      public argument::key_argument<matching_engine_insert_x, matching_entry_key_t>,
      public argument::value_argument<matching_engine_insert_x, matching_entry_val_t>,
      public argument::entry_type_argument<matching_engine_insert_x, matching_entry_type_t> {
 public:
  /// Takes the required arguments.
  [[nodiscard]] matching_engine_insert_x(matching_engine_t matching_engine,
                                         matching_entry_key_t key, matching_entry_val_t value,
                                         matching_entry_type_t entry_type)
      : matching_engine_argument(matching_engine),
        key_argument(key),
        value_argument(value),
        entry_type_argument(entry_type) {}
  /// Inserts the entry, or finds its match.
  /// @return the value of the oldest waiting entry with this key and the other type, which is
  ///   removed; or null, and then this entry waits.
  /// @throws std::invalid_argument if `value` is null, or the handle is empty or freed.
  matching_entry_val_t operator()() const;
};
/// matching_engine_insert_x with the default of every option.
/// @relates matching_engine_insert_x
inline matching_entry_val_t matching_engine_insert(matching_engine_t matching_engine,
                                                   matching_entry_key_t key,
                                                   matching_entry_val_t value,
                                                   matching_entry_type_t entry_type) {
  return matching_engine_insert_x(matching_engine, key, value, entry_type)();
}

/// @}

}  // namespace lci

#pragma GCC visibility pop

#undef LCI_DECLARE_FREE
#undef LCI_DECLARE_GET_DEFAULT

#endif  // LCI_API_DEVICE_HPP_
