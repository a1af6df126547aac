#include "lci/net/ofi/endpoint.h"

#include <poll.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>

#include <string_view>

#include "lci/base/strings.h"
#include "lci/net/ofi/provider_facts.h"

namespace lci::net::ofi {

base::StatusOr<endpoint> endpoint::open(fid_fabric& fabric, fid_domain& domain,
                                        const provider& from, size_t completions, bool waits) {
  endpoint made;
  fi_av_attr addresses = {};
  addresses.type = from.info->domain_attr->av_type;
  fid_av* av = nullptr;
  if (const int code = fi_av_open(&domain, &addresses, &av, nullptr); code != 0) {
    return failure("opening an address vector", code);
  }
  made.av_.reset(av);
  if (waits && needs_wait_set(from.name(), from.info->fabric_attr->prov_version)) {
    made.open_wait_set(fabric);
  }
  base::Status opened = made.open_queue(domain, completions, waits);
  if (waits && !opened.ok()) {  // the provider may not support waiting
    made.wait_.reset();
    opened = made.open_queue(domain, completions, /*waits=*/false);
  }
  if (!opened.ok()) return opened;
  fid_ep* ep = nullptr;
  if (const int code = fi_endpoint(&domain, from.info.get(), &ep, nullptr); code != 0) {
    return failure(base::StrCat("opening an endpoint of ", from.name()), code);
  }
  made.ep_.reset(ep);
  int code = fi_ep_bind(ep, &av->fid, 0);
  if (code == 0) code = fi_ep_bind(ep, &made.cq_->fid, FI_TRANSMIT | FI_RECV);
  if (code == 0) code = fi_enable(ep);
  if (code != 0) return failure(base::StrCat("enabling an endpoint of ", from.name()), code);
  return made;
}

void endpoint::open_wait_set(fid_fabric& fabric) {
  fi_wait_attr attributes = {};
  attributes.wait_obj = FI_WAIT_FD;
  fid_wait* wait = nullptr;
  if (fi_wait_open(&fabric, &attributes, &wait) == 0) wait_.reset(wait);
}

base::Status endpoint::open_queue(fid_domain& domain, size_t completions, bool waits) {
  fi_cq_attr queue = {};
  queue.size = completions;
  queue.format = FI_CQ_FORMAT_DATA;
  queue.wait_obj = !waits ? FI_WAIT_NONE : wait_ == nullptr ? FI_WAIT_FD : FI_WAIT_SET;
  queue.wait_set = wait_.get();
  fid_cq* cq = nullptr;
  int code = fi_cq_open(&domain, &queue, &cq, nullptr);
  if (code == 0) {
    cq_.reset(cq);
    if (waits) {
      code = fi_control(wait_ == nullptr ? &cq->fid : &wait_->fid, FI_GETWAIT, &descriptor_);
    }
  }
  if (code == 0) return base::OkStatus();
  descriptor_ = -1;
  return failure(base::StrCat("opening a completion queue of ", completions, " entries"), code);
}

base::StatusOr<std::string> endpoint::name() const {
  std::string name(1024, '\0');
  size_t length = name.size();
  const int code = fi_getname(&ep_->fid, &name[0], &length);
  if (code != 0) return failure("asking for an endpoint's address", code);
  name.resize(length);
  return name;
}

bool endpoint::is_quiet(fid_fabric& fabric) const {
  if (wait_ != nullptr) {
    // Without a timeout, it makes the descriptor unreadable and looks for completions.
    if (fi_wait(wait_.get(), /*timeout=*/0) != -FI_ETIMEDOUT) return false;
  } else {
    fid* queue = &cq_->fid;
    if (fi_trywait(&fabric, &queue, 1) != FI_SUCCESS) return false;
  }
  pollfd now = {descriptor_, POLLIN, 0};
  return ::poll(&now, 1, 0) == 0;
}

base::StatusOr<fi_addr_t> endpoint::insert(std::string_view name) {
  fi_addr_t address = FI_ADDR_UNSPEC;
  const std::string copy(name);  // zero-terminated, as textual addresses must be
  const int inserted = fi_av_insert(av_.get(), copy.c_str(), 1, &address, 0, nullptr);
  if (inserted != 1) {
    return failure("inserting an address", inserted < 0 ? inserted : -FI_EINVAL);
  }
  return address;
}

std::string endpoint::inserted_name(fi_addr_t address) const {
  char bytes[256] = {};
  size_t size = sizeof(bytes);
  if (fi_av_lookup(av_.get(), address, bytes, &size) != 0 || size > sizeof(bytes)) return "";
  return std::string(bytes, size);
}

}  // namespace lci::net::ofi
