#include "lci/runtime/device.h"

#include <algorithm>
#include <utility>

#include "lci/runtime/runtime.h"

namespace lci {

device_impl_t::device_impl_t(runtime_impl_t& owner, const device_attr_t& attributes,
                             std::unique_ptr<net::device> network)
    : runtime(owner),
      attr(attributes),
      net(std::move(network)),
      eager(*this),
      rendezvous(*this),
      max_eager_(std::min(attr.packet_size, net->limits().max_inject)) {}

error_t device_impl_t::try_submit(net::op operation, rt::continuation* then) {
  operation.context = then;
  const error_t result = net->post(operation);
  if (then != nullptr && (result.is_done() || result.errorcode == errorcode_t::fatal)) {
    then->completed(*this, result.errorcode);
  }
  return result;
}

void device_impl_t::submit(const net::op& operation, rt::continuation* then) {
  if (try_submit(operation, then).is_retry()) backlog.push(operation, then);
}

bool device_impl_t::drained() { return backlog.empty() && rendezvous.idle() && net->drained(); }

}  // namespace lci
