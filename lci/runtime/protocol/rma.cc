#include "lci/runtime/protocol/rma.h"

#include <stdexcept>

#include "lci/base/strings.h"
#include "lci/runtime/device.h"
#include "lci/runtime/protocol/control.h"
#include "lci/runtime/runtime.h"

namespace lci::rt {

// ---- what the target is told --------------------------------------------------------------------

template <class Operation>
bool rma::tells(net::op_kind kind, tag_t tag, rcomp_t rcomp, Operation* operation) const {
  if (kind != net::op_kind::put || rcomp == 0 || !device_.has_put_imm32() ||
      !device_.runtime.imm().fits(tag, rcomp)) {
    return false;
  }
  operation->imm = device_.runtime.imm().encode(tag, rcomp);
  operation->imm_high = 0;
  return true;
}

template <class Operation>
bool rma::tells(net::op_kind kind, const remote_signal& signal, Operation* operation) const {
  if (kind != net::op_kind::put || signal.signal == 0 || !device_.signals().fits(signal) ||
      (device_.has_remote_add() && signal.counter.key != 0)) {
    return false;
  }
  operation->imm = device_.signals().encode(signal);
  operation->imm_high = device_.signals().encode_high(signal);
  return true;
}

void rma::tell(int rank, tag_t tag, rcomp_t rcomp) {
  const signal_header header{tag, rcomp, 0};
  device_.submit(control_op(rank, message_kind::signal, header), nullptr);
}

void rma::tell(int rank, const remote_signal& signal) {
  if (device_.has_remote_add() && signal.counter.key != 0 &&
      device_.net->add(rank, signal.counter, signal.counter_offset,
                       addend_of(signal.part, signal.event_bits))) {
    return;
  }
  const signal_event& event = signal;
  device_.submit(control_op(rank, message_kind::event, event), nullptr);
}

// ---- operations ---------------------------------------------------------------------------------

error_t rma_transfer::start(device_impl_t& device, bool may_wait) {
  tells = signal.signal != 0 ? device.rma.tells(kind, signal, this)
                             : device.rma.tells(kind, tag, rcomp, this);
  // Another thread may end it before this returns, and with it this object.
  const error_t result = pieces::start(device, may_wait);
  if (result.is_done()) tell(device);
  return result;
}

void rma_transfer::tell(device_impl_t& device) const {
  if (tells) return;
  if (signal.signal != 0) {
    device.rma.tell(rank, signal);
  } else if (rcomp != 0) {
    device.rma.tell(rank, tag, rcomp);
  }
}

void rma_transfer::finished(device_impl_t& device, errorcode_t code) {
  if (code == errorcode_t::done) tell(device);
  over(device, code);
}

error_t rma::start(net::op_kind kind, const message& operation, net::remote_region remote,
                   uint64_t remote_offset, bool may_wait, const remote_signal* signal) {
  if (ends_at_once(operation.size, operation.local)) {
    net::op op;
    op.kind = kind;
    op.rank = operation.rank;
    op.buffer = operation.buffer;
    op.size = operation.size;
    op.local = operation.local;
    op.remote = remote;
    op.remote_offset = remote_offset;
    const error_t result = signal != nullptr ? post_short(&op, *signal)
                                             : post_short(&op, operation.tag, operation.rcomp);
    if (result.is_done()) operation.release();
    if (!may_wait || !result.is_retry()) return result;
  }
  state* made = states_.make();
  made->operation = operation;
  made->kind = kind;
  made->rank = operation.rank;
  made->buffer = operation.buffer;
  made->size = operation.size;
  made->remote = remote;
  made->remote_offset = remote_offset;
  made->local = operation.local;
  made->registered = false;
  made->tag = operation.tag;
  made->rcomp = signal != nullptr ? 0 : operation.rcomp;
  made->signal = signal != nullptr ? *signal : remote_signal();
  if (device_.net->needs_registration(operation.rank) && operation.local.handle == 0) {
    auto registered = device_.register_for_use(operation.buffer, operation.size);
    if (!registered.ok()) {
      states_.recycle(made);
      throw std::runtime_error(base::StrCat("lci: can't register the local buffer of ",
                                            operation.size,
                                            " bytes: ", registered.status().ToString()));
    }
    made->use = *registered;
    made->local = made->use.local;
    made->registered = true;
  }
  opened();
  const error_t result = made->start(device_, may_wait);
  if (!result.is_posted()) {
    end(made);
    if (result.is_done()) operation.release();
  }
  return result;
}

bool rma::ends_at_once(size_t size, net::local_region local) const {
  const net::device_limits& limits = device_.net->limits();
  return size < limits.rma_short && size <= device_.max_rma() &&
         (!limits.needs_registration || local.handle != 0);
}

error_t rma::post_short(net::op* operation, tag_t tag, rcomp_t rcomp) {
  const bool told = tells(operation->kind, tag, rcomp, operation);
  if (told) operation->kind = net::op_kind::put_imm;
  const error_t result = device_.net->post(*operation);
  if (result.is_done() && rcomp != 0 && !told) tell(operation->rank, tag, rcomp);
  return result;
}

error_t rma::post_short(net::op* operation, const remote_signal& signal) {
  const bool told = tells(operation->kind, signal, operation);
  if (told) operation->kind = net::op_kind::put_imm;
  const error_t result = device_.net->post(*operation);
  if (result.is_done() && !told) tell(operation->rank, signal);
  return result;
}

void rma::end(state* over) {
  if (over->registered) device_.end_use(over->use);
  states_.recycle(over);
  closed();
}

void rma::state::over(device_impl_t& device, errorcode_t code) {
  const message ended = operation;
  device.rma.end(this);
  ended.signal(code);
}

// ---- at the target ------------------------------------------------------------------------------

void rma::on_signal(int rank, tag_t tag, rcomp_t rcomp) {
  status_t status(errorcode_t::done);
  status.rank = rank;
  status.tag = tag;
  device_.runtime.find_rcomp(rcomp, rank)->signal(status);
}

void rma::on_event(int rank, const signal_event& event) {
  device_.runtime.find_signal(event.signal, rank)->arrived(event.part);
}

}  // namespace lci::rt
