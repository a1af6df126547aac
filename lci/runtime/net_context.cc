#include "lci/runtime/net_context.h"

#include <stdexcept>
#include <utility>

#include "lci/base/strings.h"

namespace lci {
namespace {

std::unique_ptr<net::context> attach(boot::bootstrap& boot, net_context_attr_t* attr) {
  const boot::job_position& position = boot.position();
  const net::backend_entry* entry =
      net::find_backend(attr->backend, position.local_size == position.size);
  if (entry == nullptr || !entry->available()) {
    throw std::runtime_error(
        base::StrCat("lci: the backend asked for (LCI_ATTR_BACKEND) is ",
                     entry == nullptr ? "not part of this library" : "not available on this host",
                     "; leave it unset for the default"));
  }
  net::context_config config;
  config.provider = attr->ofi_provider_name;
  config.interface = attr->device_name;
  config.ibv_gid_index = attr->ibv_gid_idx;
  config.ibv_always_by_gid = attr->ibv_force_gid_auto_select;
  config.ibv_odp_strategy = attr->ibv_odp_strategy;
  config.ibv_prefetch_strategy = attr->ibv_prefetch_strategy;
  config.ibv_eager_ranks = attr->ibv_eager_ranks;
  config.max_registrations = attr->max_registrations;
  auto network = entry->make(boot, config);
  if (!network.ok()) {
    throw std::runtime_error(base::StrCat("lci: rank ", boot.rank(), " can't use backend ",
                                          entry->name, ": ", network.status().ToString()));
  }
  attr->backend = net::find_backend((*network)->name())->id;
  return *std::move(network);
}

}  // namespace

net_context_impl_t::net_context_impl_t(runtime_impl_t& owner, const net_context_attr_t& attributes,
                                       std::unique_ptr<boot::bootstrap> boot, int own_number)
    : boot_(std::move(boot)),
      runtime(owner),
      attr(attributes),
      number(own_number),
      net(attach(*boot_, &attr)) {
  if (attr.max_msg_size == 0) {
    throw std::invalid_argument("lci: attribute max_msg_size is 0, not at least 1");
  }
}

}  // namespace lci
