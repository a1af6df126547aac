#include "lci/net/ibv/verbs.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "lci/base/strings.h"
#include "lci/net/shared_library.h"

namespace lci::net::ibv {
namespace {

// The functions under these names in libibverbs; its headers define macros of the same names.
using query_port_function = int (*)(ibv_context*, uint8_t, ibv_port_attr*);
using reg_mr_function = ibv_mr* (*)(ibv_pd*, void*, size_t, int);
using query_gid_table_function = ssize_t (*)(ibv_context*, ibv_gid_entry*, size_t, uint32_t,
                                             size_t);

query_port_function old_query_port = nullptr;
query_gid_table_function whole_gid_table = nullptr;

// The function looked up by name knows only the first fields and leaves the others unset.
int query_port(ibv_context* context, uint8_t port, ibv_port_attr* attributes) {
  std::memset(attributes, 0, sizeof(*attributes));
  verbs_context* extended = verbs_get_ctx_op(context, query_port);
  if (extended == nullptr) return old_query_port(context, port, attributes);
  return extended->query_port(context, port, attributes, sizeof(*attributes));
}

ssize_t query_gid_table(ibv_context* context, ibv_gid_entry* entries, size_t count) {
  return whole_gid_table(context, entries, count, 0, sizeof(*entries));
}

int query_device_ex(ibv_context* context, ibv_device_attr_ex* attributes) {
  std::memset(attributes, 0, sizeof(*attributes));
  verbs_context* extended = verbs_get_ctx_op(context, query_device_ex);
  if (extended == nullptr) return EOPNOTSUPP;
  return extended->query_device_ex(context, nullptr, attributes, sizeof(*attributes));
}

}  // namespace

base::StatusOr<verbs> load_verbs_from(const char* file) {
  base::StatusOr<shared_library> opened =
      shared_library::open(file, "libibverbs", "libibverbs1 and ibverbs-providers");
  if (!opened.ok()) return opened.status();
  verbs made;
#define LCI_IBV_FUNCTION(name_) opened->find("ibv_" #name_, &made.name_);
  LCI_IBV_FUNCTIONS(LCI_IBV_FUNCTION)
#undef LCI_IBV_FUNCTION
  opened->find("ibv_query_port", &old_query_port);
  opened->find("_ibv_query_gid_table", &whole_gid_table);
  opened->find("ibv_reg_mr", &made.reg_mr);
  if (!opened->status().ok()) return opened->status();
  made.query_port = query_port;
  made.query_gid_table = query_gid_table;
  made.query_device_ex = query_device_ex;
  made.alloc_td = [](ibv_context* context, ibv_td_init_attr* attributes) {
    return ibv_alloc_td(context, attributes);
  };
  made.dealloc_td = [](ibv_td* domain) { return ibv_dealloc_td(domain); };
  made.alloc_parent_domain = [](ibv_context* context, ibv_parent_domain_init_attr* attributes) {
    return ibv_alloc_parent_domain(context, attributes);
  };
  made.advise_mr = [](ibv_pd* domain, ibv_advise_mr_advice advice, uint32_t flags, ibv_sge* bytes,
                      uint32_t count) {
    return ibv_advise_mr(domain, advice, flags, bytes, count);
  };
  return made;
}

const base::StatusOr<verbs>& load_verbs() {
  // Version 1 is the interface that the headers describe, unchanged since 2006.
  static const base::StatusOr<verbs> once = load_verbs_from("libibverbs.so.1");
  return once;
}

base::Status failure(std::string_view what, int code) {
  const int number = std::abs(code);
  const std::string text = base::StrCat(what, ": ", std::strerror(number));
  if (number == ENOMEM) {
    return base::ResourceExhaustedError(
        base::StrCat(text, " (a common cause is too low a limit of locked memory, see ulimit -l)"));
  }
  return base::UnavailableError(text);
}

}  // namespace lci::net::ibv
