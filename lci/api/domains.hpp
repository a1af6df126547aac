// A device for each thread, so that threads that communicate do not meet: the communication domains
// of K. Ibrahim and K. Yelick, "On the Conditions for Efficient Interoperability with Threads"
// (ICS'14), section 4.
//
//   lci::thread_devices_t devices = lci::alloc_thread_devices(threads);  // collective
//   // in each thread
//   lci::device_t mine = lci::get_thread_device(devices);
//   lci::post_am_x(...).device(mine)();
//   lci::progress_x().device(mine)();
//   ...
//   lci::free_thread_devices(&devices);
//
// Addressability. What is posted on device number i arrives on device number i of the other rank,
// and is handled by who makes progress there; a send can name its matching engine besides, and an
// active message its completion object. A thread that other ranks want to address takes its number
// itself (bind_thread_device), and any thread may post on any device.
// Separability. Two threads on two devices write to no common cache line, in posting, progress and
// completion, if they also use matching engines, completion objects and buffers of their own, and
// the shared device is not among what they serve (attribute am_poll_mask of the devices: -1).
// Reachability. Memory registered once is reached through all devices of its net context, those
// made later, too (attribute max_registrations of the net context, count_registrations).
//
// Whoever makes progress on such a device also serves the default one now and then (am_poll_mask),
// so that a program whose threads have only devices of their own receives what is sent there.
#ifndef LCI_API_DOMAINS_HPP_
#define LCI_API_DOMAINS_HPP_

#include "lci/api/option.hpp"
#include "lci/api/resource.hpp"

namespace lci {
class thread_devices_impl_t;
}  // namespace lci

#pragma GCC visibility push(default)

namespace lci {

// Devices number 0 to n - 1 of a set are for the threads 0 to n - 1 of a program.
class thread_devices_t : public resource_handle<thread_devices_impl_t> {
 public:
  using resource_handle::resource_handle;
};

// Makes n devices, at least 1. Collective like alloc_device, of which it takes the options.
class [[nodiscard]] alloc_thread_devices_x
    : public option::runtime_option<alloc_thread_devices_x>,
      public option::net_context_option<alloc_thread_devices_x>,
      public option::packet_pool_option<alloc_thread_devices_x>,
      public option::device_attr_options<alloc_thread_devices_x>,
      public argument::n_argument<alloc_thread_devices_x, int> {
 public:
  [[nodiscard]] explicit alloc_thread_devices_x(int n) : n_argument(n) {}
  thread_devices_t operator()() const;
};
inline thread_devices_t alloc_thread_devices(int n) { return alloc_thread_devices_x(n)(); }

// Frees all of them, as free_device does. When no thread uses them any more.
class [[nodiscard]] free_thread_devices_x
    : public option::runtime_option<free_thread_devices_x>,
      public argument::devices_argument<free_thread_devices_x, thread_devices_t*> {
 public:
  [[nodiscard]] explicit free_thread_devices_x(thread_devices_t* devices)
      : devices_argument(devices) {}
  void operator()() const;
};
inline void free_thread_devices(thread_devices_t* devices) { free_thread_devices_x{devices}(); }

// The calling thread's device: at its first call the one that fewest threads have, of these the one
// of the lowest number. It is the thread's until it ends. A look at variables of the thread, but
// for the first call, which takes a lock.
class [[nodiscard]] get_thread_device_x
    : public option::runtime_option<get_thread_device_x>,
      public argument::devices_argument<get_thread_device_x, thread_devices_t> {
 public:
  [[nodiscard]] explicit get_thread_device_x(thread_devices_t devices)
      : devices_argument(devices) {}
  device_t operator()() const;
};
inline device_t get_thread_device(thread_devices_t devices) {
  return get_thread_device_x(devices)();
}

// From now on device `number` is the calling thread's, whoever else has it. Returns it. Throws
// std::invalid_argument if there is none.
class [[nodiscard]] bind_thread_device_x
    : public option::runtime_option<bind_thread_device_x>,
      public argument::devices_argument<bind_thread_device_x, thread_devices_t>,
      public argument::number_argument<bind_thread_device_x, int> {
 public:
  [[nodiscard]] bind_thread_device_x(thread_devices_t devices, int number)
      : devices_argument(devices), number_argument(number) {}
  device_t operator()() const;
};
inline device_t bind_thread_device(thread_devices_t devices, int number) {
  return bind_thread_device_x(devices, number)();
}

// Device `number`, to post to who has that one on another rank. Throws std::invalid_argument if
// there is none.
class [[nodiscard]] get_device_of_thread_x
    : public option::runtime_option<get_device_of_thread_x>,
      public argument::devices_argument<get_device_of_thread_x, thread_devices_t>,
      public argument::number_argument<get_device_of_thread_x, int> {
 public:
  [[nodiscard]] get_device_of_thread_x(thread_devices_t devices, int number)
      : devices_argument(devices), number_argument(number) {}
  device_t operator()() const;
};
inline device_t get_device_of_thread(thread_devices_t devices, int number) {
  return get_device_of_thread_x(devices, number)();
}

// Registrations that the network has for a net context now: of memory that is registered or was
// allocated here, of packets, and of the buffers of large messages under way; one for each device
// where the network wants that. Exact while nothing is registered or deregistered.
class [[nodiscard]] count_registrations_x
    : public option::runtime_option<count_registrations_x>,
      public option::net_context_option<count_registrations_x> {
 public:
  [[nodiscard]] count_registrations_x() = default;
  size_t operator()() const;
};
inline size_t count_registrations() { return count_registrations_x()(); }

}  // namespace lci

#pragma GCC visibility pop

#endif  // LCI_API_DOMAINS_HPP_
