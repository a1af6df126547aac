/// @file
/// Macros that declare the operations that every resource has.
#ifndef LCI_API_RESOURCE_OPERATIONS_HPP_
#define LCI_API_RESOURCE_OPERATIONS_HPP_

#include "lci/api/option.hpp"
#include "lci/api/resource.hpp"

// The macros below are internal.

// clang-format off

// Declares free_<resource>_x and free_<resource>(handle).
#define LCI_DECLARE_FREE(resource_)                                                                \
  class [[nodiscard]] free_##resource_##_x                                                         \
      : public option::runtime_option<free_##resource_##_x>,                                       \
        public argument::resource_##_argument<free_##resource_##_x, resource_##_t*> {              \
   public:                                                                                         \
    /** Takes the required arguments. */                                                           \
    [[nodiscard]] explicit free_##resource_##_x(resource_##_t* handle)                             \
        : argument::resource_##_argument<free_##resource_##_x, resource_##_t*>(handle) {}          \
    /** Frees the resource, and empties the handle.                                                \
        \throws std::logic_error if the library finds the resource in use, or it is a default one. \
        \throws std::invalid_argument if the handle is empty, the resource has been freed, or      \
          it belongs to another runtime than the option names. */                                  \
    void operator()() const;                                                                       \
  };                                                                                               \
  /** free_##resource_##_x with the default of every option.                                       \
      \relates free_##resource_##_x */                                                             \
  inline void free_##resource_(resource_##_t* handle) { free_##resource_##_x{handle}(); }

// Declares get_default_<resource>_x and get_default_<resource>().
#define LCI_DECLARE_GET_DEFAULT(resource_)                                                         \
  class [[nodiscard]] get_default_##resource_##_x                                                  \
      : public option::runtime_option<get_default_##resource_##_x> {                               \
   public:                                                                                         \
    /** Sets every option to its default. */                                                       \
    [[nodiscard]] get_default_##resource_##_x() = default;                                         \
    /** Returns the resource, which the runtime owns.                                              \
        \throws std::logic_error if the runtime has none. */                                       \
    resource_##_t operator()() const;                                                              \
  };                                                                                               \
  /** get_default_##resource_##_x with the default of every option.                                \
      \relates get_default_##resource_##_x */                                                      \
  inline resource_##_t get_default_##resource_() { return get_default_##resource_##_x()(); }

// clang-format on

#endif  // LCI_API_RESOURCE_OPERATIONS_HPP_
