// The attributes of every resource, each said once: type, name, default, and unit and meaning.
//
// A list serves the attribute struct, the getters of the handle, the options of the allocating
// operation, the environment variable LCI_ATTR_<NAME>, the global defaults and lci_info.
//   *_ATTRS(X)           settable when the resource is allocated
//   *_READONLY_ATTRS(X)  known only after that
// `name` and `user_context` belong to every resource and have no global default.
#ifndef LCI_API_ATTR_HPP_
#define LCI_API_ATTR_HPP_

#include <cstddef>
#include <cstdint>

#include "lci/api/types.hpp"

// clang-format off
#define LCI_RUNTIME_ATTRS(X)                                                                       \
  X(attr_backend_t, backend, attr_backend_t::none, "transport; none: the best one available")      \
  X(int, imm_nbits_tag, 16, "bits of the immediate data that carry the tag, 0 to 16")              \
  X(int, imm_nbits_rcomp, 15, "bits of the immediate data that carry rcomp, 1 to 15")              \
  X(bool, alloc_default_device, true, "make a default device with the runtime")

#define LCI_RUNTIME_READONLY_ATTRS(X)                                                              \
  X(uint64_t, max_imm_tag, 0, "largest tag that put with signal carries")                          \
  X(uint64_t, max_imm_rcomp, 0, "largest rcomp that put with signal carries")                      \
  X(uint64_t, max_tag, 0, "largest tag of a send, receive or active message")                      \
  X(uint64_t, max_rcomp, 0, "largest rcomp of an active message")

#define LCI_DEVICE_ATTRS(X)                                                                        \
  X(size_t, packet_size, 8192, "bytes of the largest message sent by copy, header included; 256 to 65536")

#define LCI_DEVICE_READONLY_ATTRS(X)                                                               \
  X(int, uid, -1, "number of the device within its runtime, in the order of allocation")

#define LCI_COMP_ATTRS(X)                                                                          \
  X(int, sync_threshold, 1, "signals that a synchronizer waits for, at least 1")                   \
  X(attr_cq_type_t, cq_type, attr_cq_type_t::lcrq, "design of a completion queue")                 \
  X(int, cq_default_length, 65536, "statuses that an array_atomic queue holds")

#define LCI_COMP_READONLY_ATTRS(X)                                                                 \
  X(attr_comp_type_t, comp_type, attr_comp_type_t::custom, "kind of the completion object")
// clang-format on

// The three things an X can be, for the code below and behind this header.
#define LCI_ATTR_FIELD(type_, name_, default_, doc_) type_ name_ = default_;
#define LCI_ATTR_GETTER(type_, name_, default_, doc_) type_ get_attr_##name_() const;

namespace lci {

struct runtime_attr_t {
  LCI_RUNTIME_ATTRS(LCI_ATTR_FIELD)
  LCI_RUNTIME_READONLY_ATTRS(LCI_ATTR_FIELD)
  const char* name = DEFAULT_NAME;
  void* user_context = nullptr;
};

struct device_attr_t {
  LCI_DEVICE_ATTRS(LCI_ATTR_FIELD)
  LCI_DEVICE_READONLY_ATTRS(LCI_ATTR_FIELD)
  const char* name = DEFAULT_NAME;
  void* user_context = nullptr;
};

struct comp_attr_t {
  LCI_COMP_ATTRS(LCI_ATTR_FIELD)
  LCI_COMP_READONLY_ATTRS(LCI_ATTR_FIELD)
  const char* name = DEFAULT_NAME;
  void* user_context = nullptr;
};

// The default of every settable attribute.
struct global_attr_t {
  LCI_RUNTIME_ATTRS(LCI_ATTR_FIELD)
  LCI_DEVICE_ATTRS(LCI_ATTR_FIELD)
  LCI_COMP_ATTRS(LCI_ATTR_FIELD)
};

}  // namespace lci

#endif  // LCI_API_ATTR_HPP_
