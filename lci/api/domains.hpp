/// @file
/// A device for each thread.

/// @defgroup lci_thread_devices Devices of threads
/// A device for each thread, so that threads that communicate do not interfere with each other: the
/// communication domains of K. Ibrahim and K. Yelick, "On the Conditions for Efficient
/// Interoperability with Threads" (ICS'14), section 4.
/// @code
/// lci::thread_devices_t devices = lci::alloc_thread_devices(threads);  // collective
/// // in each thread
/// lci::device_t mine = lci::get_thread_device(devices);
/// lci::post_am_x(...).device(mine)();
/// lci::progress_x().device(mine)();
/// // at the end
/// lci::free_thread_devices(&devices);
/// @endcode
///
/// **Addressability.** An operation posted on device number i arrives on device number i of the
/// other rank, and a thread that makes progress there processes it; in addition, a send can name
/// its matching engine, and an active message its completion object. A thread that other ranks are
/// to address chooses its number itself (bind_thread_device), and any thread may post on any
/// device.
///
/// **Separability.** Two threads on two devices write to no common cache line, in posting, progress
/// and completion, if they also use separate matching engines, completion objects and buffers, and
/// do not make progress on the default device (attribute `am_poll_mask` of the devices: -1).
///
/// **Reachability.** Memory registered once is reached through all devices of its net context, also
/// through those made later (attribute `max_registrations` of the net context,
/// count_registrations).
///
/// A thread that makes progress on such a device also makes progress on the default device now and
/// then (`am_poll_mask`), so that a program whose threads use only devices of their own receives
/// the messages sent to the default device.
#ifndef LCI_API_DOMAINS_HPP_
#define LCI_API_DOMAINS_HPP_

#include "lci/api/option.hpp"
#include "lci/api/resource.hpp"

/// @cond INTERNAL
namespace lci {
class thread_devices_impl_t;
}  // namespace lci
/// @endcond

#pragma GCC visibility push(default)

namespace lci {

/// @addtogroup lci_thread_devices
/// @{

/// A set of devices for the threads of a program: devices number 0 to n - 1 are for the threads 0
/// to n - 1.
class thread_devices_t : public resource_handle<thread_devices_impl_t> {
 public:
  using resource_handle::resource_handle;
};

/// Allocates `n` devices for the threads of a program. Collective, as alloc_device_x.
///
/// Required: `n`. Options: those of alloc_device_x.
class [[nodiscard]] alloc_thread_devices_x
    : public option::runtime_option<alloc_thread_devices_x>,
      public option::net_context_option<alloc_thread_devices_x>,
      public option::packet_pool_option<alloc_thread_devices_x>,
      public option::device_attr_options<alloc_thread_devices_x>,
      public argument::n_argument<alloc_thread_devices_x, int> {
 public:
  /// Takes the required arguments.
  /// @param n number of devices, at least 1.
  [[nodiscard]] explicit alloc_thread_devices_x(int n) : n_argument(n) {}
  /// Allocates the devices.
  /// @return the set of devices. The program frees it by free_thread_devices.
  /// @throws std::invalid_argument if `n` is less than 1, or as alloc_device_x.
  /// @throws std::runtime_error as alloc_device_x.
  /// @throws std::logic_error as alloc_device_x.
  thread_devices_t operator()() const;
};
/// alloc_thread_devices_x with the default of every option.
/// @relates alloc_thread_devices_x
inline thread_devices_t alloc_thread_devices(int n) { return alloc_thread_devices_x(n)(); }

/// Frees all devices of a set, as free_device does, and empties the handle. No thread may use them
/// anymore.
///
/// Required: `devices`. Options: `runtime`.
class [[nodiscard]] free_thread_devices_x
    : public option::runtime_option<free_thread_devices_x>,
      public argument::devices_argument<free_thread_devices_x, thread_devices_t*> {
 public:
  /// Takes the required arguments.
  [[nodiscard]] explicit free_thread_devices_x(thread_devices_t* devices)
      : devices_argument(devices) {}
  /// Frees the devices.
  /// @throws std::logic_error if an operation is in progress on one of them, or inside a handler;
  ///   none is freed then.
  /// @throws std::invalid_argument if the handle is empty or the set has been freed.
  void operator()() const;
};
/// free_thread_devices_x with the default of every option.
/// @relates free_thread_devices_x
inline void free_thread_devices(thread_devices_t* devices) { free_thread_devices_x{devices}(); }

/// Returns the device of the calling thread. At the first call of a thread this is the device that
/// the fewest threads have; of several, the one with the lowest number. The thread keeps it until
/// it ends. The first call of a thread takes a lock; later calls only read variables of the thread.
///
/// Required: `devices`. Options: `runtime`.
class [[nodiscard]] get_thread_device_x
    : public option::runtime_option<get_thread_device_x>,
      public argument::devices_argument<get_thread_device_x, thread_devices_t> {
 public:
  /// Takes the required arguments.
  [[nodiscard]] explicit get_thread_device_x(thread_devices_t devices)
      : devices_argument(devices) {}
  /// Returns the device, which the set owns.
  /// @throws std::invalid_argument if the handle is empty or the set has been freed.
  device_t operator()() const;
};
/// get_thread_device_x with the default of every option.
/// @relates get_thread_device_x
inline device_t get_thread_device(thread_devices_t devices) {
  return get_thread_device_x(devices)();
}

/// Gives the calling thread device `number`, in addition to other threads that have it. The thread
/// keeps it until it ends or calls this operation again. Thread-safe.
///
/// Required: `devices`, `number`. Options: `runtime`.
class [[nodiscard]] bind_thread_device_x
    : public option::runtime_option<bind_thread_device_x>,
      public argument::devices_argument<bind_thread_device_x, thread_devices_t>,
      public argument::number_argument<bind_thread_device_x, int> {
 public:
  /// Takes the required arguments.
  /// @param number 0 to n - 1.
  [[nodiscard]] bind_thread_device_x(thread_devices_t devices, int number)
      : devices_argument(devices), number_argument(number) {}
  /// Binds the thread.
  /// @return the device, which the set owns.
  /// @throws std::invalid_argument if the handle is empty or the set has been freed, or it has no
  ///   device `number`.
  device_t operator()() const;
};
/// bind_thread_device_x with the default of every option.
/// @relates bind_thread_device_x
inline device_t bind_thread_device(thread_devices_t devices, int number) {
  return bind_thread_device_x(devices, number)();
}

/// Returns device `number`, to post to the thread that has the device of this number on another
/// rank. Thread-safe.
///
/// Required: `devices`, `number`. Options: `runtime`.
class [[nodiscard]] get_device_of_thread_x
    : public option::runtime_option<get_device_of_thread_x>,
      public argument::devices_argument<get_device_of_thread_x, thread_devices_t>,
      public argument::number_argument<get_device_of_thread_x, int> {
 public:
  /// Takes the required arguments.
  /// @param number 0 to n - 1.
  [[nodiscard]] get_device_of_thread_x(thread_devices_t devices, int number)
      : devices_argument(devices), number_argument(number) {}
  /// Returns the device, which the set owns.
  /// @throws std::invalid_argument if the handle is empty or the set has been freed, or it has no
  ///   device `number`.
  device_t operator()() const;
};
/// get_device_of_thread_x with the default of every option.
/// @relates get_device_of_thread_x
inline device_t get_device_of_thread(thread_devices_t devices, int number) {
  return get_device_of_thread_x(devices, number)();
}

/// Returns the number of registrations that a net context has with its network: of memory that is
/// registered or was allocated here, of packets, and of the buffers of large messages in progress;
/// one for each device where the network requires that. Exact while nothing is registered or
/// deregistered. Thread-safe.
///
/// Options: `runtime`, `net_context`.
class [[nodiscard]] count_registrations_x
    : public option::runtime_option<count_registrations_x>,
      public option::net_context_option<count_registrations_x> {
 public:
  /// Sets every option to its default.
  [[nodiscard]] count_registrations_x() = default;
  /// Returns the number.
  size_t operator()() const;
};
/// count_registrations_x with the default of every option.
/// @relates count_registrations_x
inline size_t count_registrations() { return count_registrations_x()(); }

/// @}

}  // namespace lci

#pragma GCC visibility pop

#endif  // LCI_API_DOMAINS_HPP_
