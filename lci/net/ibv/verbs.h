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

// Names and meanings are those of libibverbs.
struct verbs {
  decltype(&::ibv_get_device_list) get_device_list = nullptr;
  decltype(&::ibv_free_device_list) free_device_list = nullptr;
  decltype(&::ibv_get_device_name) get_device_name = nullptr;
  decltype(&::ibv_open_device) open_device = nullptr;
  decltype(&::ibv_close_device) close_device = nullptr;
  decltype(&::ibv_query_device) query_device = nullptr;
  int (*query_port)(ibv_context*, uint8_t port, ibv_port_attr*) = nullptr;
  // Writes the entries of all ports, at most `count`. Returns their number, or -errno.
  ssize_t (*query_gid_table)(ibv_context*, ibv_gid_entry* entries, size_t count) = nullptr;
  decltype(&::ibv_alloc_pd) alloc_pd = nullptr;
  decltype(&::ibv_dealloc_pd) dealloc_pd = nullptr;
  ibv_mr* (*reg_mr)(ibv_pd*, void*, size_t, int access) = nullptr;
  decltype(&::ibv_dereg_mr) dereg_mr = nullptr;
  decltype(&::ibv_create_cq) create_cq = nullptr;
  decltype(&::ibv_destroy_cq) destroy_cq = nullptr;
  decltype(&::ibv_create_comp_channel) create_comp_channel = nullptr;
  decltype(&::ibv_destroy_comp_channel) destroy_comp_channel = nullptr;
  decltype(&::ibv_get_cq_event) get_cq_event = nullptr;
  decltype(&::ibv_ack_cq_events) ack_cq_events = nullptr;
  decltype(&::ibv_create_srq) create_srq = nullptr;
  decltype(&::ibv_destroy_srq) destroy_srq = nullptr;
  decltype(&::ibv_create_qp) create_qp = nullptr;
  decltype(&::ibv_modify_qp) modify_qp = nullptr;
  decltype(&::ibv_destroy_qp) destroy_qp = nullptr;
  decltype(&::ibv_create_ah) create_ah = nullptr;
  decltype(&::ibv_destroy_ah) destroy_ah = nullptr;
  decltype(&::ibv_wc_status_str) wc_status_str = nullptr;
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
