#include "lci/runtime/post/send.h"

#include "lci/api/comp.hpp"
#include "lci/base/strings.h"
#include "lci/runtime/device/device.h"
#include "lci/runtime/instance/runtime.h"
#include "lci/runtime/protocol/choose.h"
#include "lci/runtime/protocol/envelope.h"

namespace lci::rt {
namespace {

// Off the fast path, as everything that makes texts: it would take registers and a larger frame.
[[noreturn, gnu::noinline, gnu::cold]] void report_gone(const device_impl_t& device, int rank) {
  throw peer_failure_error(rank, base::StrCat("lci: can't send to rank ", rank,
                                              ": it is gone (rank ", device.runtime.rank(), ")"));
}

}  // namespace

error_t send(device_impl_t& device, const operation& outgoing, bool may_wait) {
  const envelope with = make_envelope(device.runtime.imm(), outgoing);
  const message_shape shape{with.header_size, outgoing.size, outgoing.user_packet != nullptr,
                            outgoing.network_semantic};
  const bool opens = device.rendezvous.opens(outgoing);
  const protocol chosen = __builtin_expect(opens, 0)
                              ? protocol::rendezvous
                              : choose_protocol(shape, device.limits(outgoing.rank));
  error_t result;
  switch (chosen) {
    case protocol::inject:
      result = device.eager.inject(outgoing, with, may_wait);
      break;
    case protocol::buffer_copy:
      result = device.eager.send_from_packet(outgoing, with, /*copy=*/true, may_wait);
      // An operation that cannot be retried takes the protocol that needs no packet.
      if (result.errorcode == errorcode_t::retry_nopacket && may_wait) {
        result = device.rendezvous.start(outgoing, /*opens=*/false, may_wait);
      }
      break;
    case protocol::zero_copy:
      result = device.eager.send_from_packet(outgoing, with, /*copy=*/false, may_wait);
      break;
    case protocol::rendezvous:
      result = device.rendezvous.start(outgoing, opens, may_wait);
      break;
  }
  if (__builtin_expect(result.errorcode == errorcode_t::fatal, 0)) {
    report_gone(device, outgoing.rank);
  }
  return result;
}

}  // namespace lci::rt
