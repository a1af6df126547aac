/// @file
/// Registered memory.

/// @defgroup lci_memory Registered memory
/// Memory that other ranks can put to and get from.
#ifndef LCI_API_MEMORY_HPP_
#define LCI_API_MEMORY_HPP_

#include <cstddef>

#include "lci/api/option.hpp"
#include "lci/api/resource.hpp"
#include "lci/api/resource_operations.hpp"
#include "lci/api/types.hpp"

#pragma GCC visibility push(default)

namespace lci {

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

}  // namespace lci

#pragma GCC visibility pop

#endif  // LCI_API_MEMORY_HPP_
