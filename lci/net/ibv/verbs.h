// libibverbs, loaded on first use: the library reads its configuration and loads the provider of
// each device it finds, a cost that a program without this backend must not pay.
//
// This backend calls libibverbs only through this table and through the `ops` of the ibv_context
// that it opens (post, poll and notify, which the headers inline). Tests replace both by simulated
// devices.
#ifndef LCI_NET_IBV_VERBS_H_
#define LCI_NET_IBV_VERBS_H_

#include <infiniband/verbs.h>

#include <memory>
#include <string_view>

#include "lci/base/status.h"

namespace lci::net::ibv {

// The functions that are looked up by their names, less the prefix ibv_.
// clang-format off
#define LCI_IBV_FUNCTIONS(function_) \
  function_(get_device_list)         \
  function_(free_device_list)        \
  function_(get_device_name)         \
  function_(open_device)             \
  function_(close_device)            \
  function_(query_device)            \
  function_(alloc_pd)                \
  function_(dealloc_pd)              \
  function_(dereg_mr)                \
  function_(create_cq)               \
  function_(destroy_cq)              \
  function_(create_comp_channel)     \
  function_(destroy_comp_channel)    \
  function_(get_cq_event)            \
  function_(ack_cq_events)           \
  function_(create_srq)              \
  function_(destroy_srq)             \
  function_(create_qp)               \
  function_(modify_qp)               \
  function_(destroy_qp)              \
  function_(create_ah)               \
  function_(destroy_ah)              \
  function_(wc_status_str)
// clang-format on

// Names and meanings are those of libibverbs.
struct verbs {
#define LCI_IBV_FUNCTION(name_) decltype(&::ibv_##name_) name_ = nullptr;
  LCI_IBV_FUNCTIONS(LCI_IBV_FUNCTION)
#undef LCI_IBV_FUNCTION
  // Functions that libibverbs has under other names, or with other parameters.
  int (*query_port)(ibv_context*, uint8_t port, ibv_port_attr*) = nullptr;
  // Writes the entries of all ports, at most `count`. Returns their number, or -errno.
  ssize_t (*query_gid_table)(ibv_context*, ibv_gid_entry* entries, size_t count) = nullptr;
  ibv_mr* (*reg_mr)(ibv_pd*, void*, size_t, int access) = nullptr;
  // Optional functions of a device. As in libibverbs, an unsupported one returns EOPNOTSUPP, or
  // null with errno set to EOPNOTSUPP.
  ibv_td* (*alloc_td)(ibv_context*, ibv_td_init_attr*) = nullptr;
  int (*dealloc_td)(ibv_td*) = nullptr;
  ibv_pd* (*alloc_parent_domain)(ibv_context*, ibv_parent_domain_init_attr*) = nullptr;
  int (*query_device_ex)(ibv_context*, ibv_device_attr_ex*) = nullptr;
  int (*advise_mr)(ibv_pd*, ibv_advise_mr_advice, uint32_t flags, ibv_sge*, uint32_t) = nullptr;
};

// Loads `file`, which the loader searches for, and looks up the functions in it. The error contains
// the loader's message.
base::StatusOr<verbs> load_verbs_from(const char* file);
// Loads libibverbs.so.1 at the first call; it is never unloaded.
const base::StatusOr<verbs>& load_verbs();

// An error such as "creating a queue pair: Cannot allocate memory". `code` is an errno value,
// positive or negative.
base::Status failure(std::string_view what, int code);

// Owns an object of libibverbs and destroys it by the matching function of the library.
template <class Object>
struct deleter {
  int (*destroy)(Object*) = nullptr;
  void operator()(Object* object) const { destroy(object); }
};
template <class Object>
using owned = std::unique_ptr<Object, deleter<Object>>;
template <class Object>
owned<Object> own(Object* object, int (*destroy)(Object*)) {
  return owned<Object>(object, deleter<Object>{destroy});
}

}  // namespace lci::net::ibv

#endif  // LCI_NET_IBV_VERBS_H_
