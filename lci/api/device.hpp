/// @file
/// Net contexts, devices and endpoints; and, by the headers that this one includes, the other
/// resources that communication uses: registered memory, packet pools and matching engines.

/// @defgroup lci_devices Devices and other resources
/// The resources that communication uses: net contexts, devices, endpoints, packet pools and
/// matching engines. (SC'25 paper, sections 4.2.3 and 5.1)
///
/// A resource must be freed before the resource from which it was allocated, and in any order
/// otherwise. The attempt to free a resource that is in use throws std::logic_error, which names
/// the users, and changes nothing. A default resource is freed with its runtime, and not by its
/// `free` operation.
#ifndef LCI_API_DEVICE_HPP_
#define LCI_API_DEVICE_HPP_

#include "lci/api/matching_engine.hpp"  // IWYU pragma: export
#include "lci/api/memory.hpp"           // IWYU pragma: export
#include "lci/api/option.hpp"
#include "lci/api/packet_pool.hpp"  // IWYU pragma: export
#include "lci/api/resource.hpp"
#include "lci/api/resource_operations.hpp"

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
  /// @throws std::logic_error inside a handler, unless the job has one rank.
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
  /// @throws std::logic_error inside a handler, unless the job has one rank.
  device_t operator()() const;
};
/// alloc_device_x with the default of every option.
/// @relates alloc_device_x
inline device_t alloc_device() { return alloc_device_x()(); }

/// Frees a device on which no operation is in progress (see wait_drained), and whose endpoints have
/// been freed. Local: peers may free theirs earlier or later. Not for use inside a handler.
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

}  // namespace lci

#pragma GCC visibility pop

#endif  // LCI_API_DEVICE_HPP_
