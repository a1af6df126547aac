/// @file
/// Packet pools, and the packets that a program takes from them.
#ifndef LCI_API_PACKET_POOL_HPP_
#define LCI_API_PACKET_POOL_HPP_

#include <cstddef>

#include "lci/api/option.hpp"
#include "lci/api/resource.hpp"
#include "lci/api/resource_operations.hpp"
#include "lci/api/types.hpp"

#pragma GCC visibility push(default)

namespace lci {

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
  /// @throws std::invalid_argument if this is not a packet, or, with `LCI_CHECK=1`, if it has been
  ///   returned before.
  void operator()() const;
};
/// put_upacket_x with the default of every option.
/// @relates put_upacket_x
inline void put_upacket(void* packet) { put_upacket_x{packet}(); }

/// Returns the size of the largest message that is sent by copy with any tag. Thread-safe.
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

/// @}

}  // namespace lci

#pragma GCC visibility pop

#endif  // LCI_API_PACKET_POOL_HPP_
