#include "lci/runtime/protocol/eager.h"

#include <cstring>

#include "lci/runtime/device.h"
#include "lci/runtime/protocol/control.h"
#include "lci/runtime/runtime.h"
#include "lci/runtime/wire.h"

namespace lci::rt {

bool eager::is_short(const message& outgoing) const {
  return outgoing.rcomp != 0 && device_.runtime.imm().fits(outgoing.tag, outgoing.rcomp);
}

size_t eager::header_size(const message& outgoing) const {
  if (is_short(outgoing)) return 0;
  return outgoing.rcomp != 0 ? sizeof(am_header) : sizeof(tagged_header);
}

// Calls use(op) with the operation that sends `outgoing`, which lives only as long as the call.
template <class Use>
error_t eager::with_op(const message& outgoing, Use use) const {
  if (is_short(outgoing)) {
    net::op op;
    op.kind = net::op_kind::send;
    op.inject = true;
    op.rank = outgoing.rank;
    op.imm = device_.runtime.imm().encode(outgoing.tag, outgoing.rcomp);
    op.buffer = outgoing.buffer;
    op.size = outgoing.size;
    return use(op);
  }
  if (outgoing.rcomp != 0) {
    const am_header header{outgoing.tag, outgoing.rcomp, 0};
    return use(control_op(outgoing.rank, message_kind::am, header, outgoing.buffer, outgoing.size));
  }
  const tagged_header header{outgoing.tag};
  return use(
      control_op(outgoing.rank, message_kind::tagged, header, outgoing.buffer, outgoing.size));
}

error_t eager::send(const message& outgoing) {
  return with_op(outgoing, [this](const net::op& op) { return device_.try_submit(op, nullptr); });
}

error_t eager::send_or_wait(const message& outgoing) {
  return with_op(outgoing, [this, &outgoing](const net::op& op) -> error_t {
    const error_t result = device_.try_submit(op, nullptr);
    if (!result.is_retry()) return result;
    waiting_state* state = waiting_pool_.make();
    state->outgoing = outgoing;
    device_.backlog.push(op, state);
    return errorcode_t::posted_backlog;
  });
}

void eager::waiting_state::completed(device_impl_t& device, errorcode_t code) {
  const message sent = outgoing;
  device.eager.waiting_pool_.recycle(this);
  sent.signal(code == errorcode_t::done ? errorcode_t::done_backlog : code);
}

void eager::on_am(int rank, tag_t tag, rcomp_t rcomp, const void* bytes, size_t size) {
  comp_impl_t* comp = device_.runtime.find_rcomp(rcomp, rank);
  status_t status(errorcode_t::done);
  status.rank = rank;
  status.tag = tag;
  status.size = size;
  status.buffer = device_.runtime.allocate(size, rank);
  if (size > 0) std::memcpy(status.buffer, bytes, size);
  comp->signal(status);
}

}  // namespace lci::rt
