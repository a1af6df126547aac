#include "lci/runtime/protocol/rma.h"

#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "lci/runtime/device.h"
#include "lci/runtime/protocol/control.h"
#include "lci/runtime/runtime.h"

namespace lci::rt {

error_t rma::start(net::op_kind kind, const message& operation, net::remote_region remote,
                   uint64_t remote_offset, bool may_wait) {
  if (ends_at_once(operation.size, operation.local)) {
    net::op op;
    op.kind = kind;
    op.rank = operation.rank;
    op.buffer = operation.buffer;
    op.size = operation.size;
    op.local = operation.local;
    op.remote = remote;
    op.remote_offset = remote_offset;
    const error_t result = post_at_once(&op, operation.tag, operation.rcomp);
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
  made->tells = tells(kind, operation.tag, operation.rcomp);
  made->imm = made->tells ? device_.runtime.imm().encode(operation.tag, operation.rcomp) : 0;
  if (device_.net->needs_registration(operation.rank) && operation.local.handle == 0) {
    auto registered = device_.register_for_use(operation.buffer, operation.size);
    if (!registered.ok()) {
      states_.recycle(made);
      throw std::runtime_error(absl::StrCat("lci: can't register the local buffer of ",
                                            operation.size,
                                            " bytes: ", registered.status().ToString()));
    }
    made->use = *registered;
    made->local = made->use.local;
    made->registered = true;
  }
  open_.fetch_add(1, std::memory_order_relaxed);
  const error_t result = made->start(device_, may_wait);
  if (!result.is_posted()) {
    end(made, result.errorcode);
    if (result.is_done()) operation.release();
  }
  return result;
}

bool rma::tells(net::op_kind kind, tag_t tag, rcomp_t rcomp) const {
  return kind == net::op_kind::put && rcomp != 0 && device_.net->limits().has_put_imm &&
         device_.runtime.imm().fits(tag, rcomp);
}

void rma::signal_target(int rank, tag_t tag, rcomp_t rcomp) {
  const signal_header header{tag, rcomp, 0};
  device_.submit(control_op(rank, message_kind::signal, header), nullptr);
}

bool rma::ends_at_once(size_t size, net::local_region local) const {
  const net::device_limits& limits = device_.net->limits();
  return size < limits.rma_at_once && size <= device_.max_rma() &&
         (!limits.needs_registration || local.handle != 0);
}

error_t rma::post_at_once(net::op* operation, tag_t tag, rcomp_t rcomp) {
  const bool told = tells(operation->kind, tag, rcomp);
  if (told) {
    operation->kind = net::op_kind::put_imm;
    operation->imm = device_.runtime.imm().encode(tag, rcomp);
  }
  const error_t result = device_.net->post(*operation);
  if (result.is_done() && rcomp != 0 && !told) signal_target(operation->rank, tag, rcomp);
  return result;
}

void rma::end(state* over, errorcode_t code) {
  if (code == errorcode_t::done && over->operation.rcomp != 0 && !over->tells) {
    signal_target(over->operation.rank, over->operation.tag, over->operation.rcomp);
  }
  if (over->registered) device_.end_use(over->use);
  states_.recycle(over);
  open_.fetch_sub(1, std::memory_order_release);
}

void rma::state::finished(device_impl_t& device, errorcode_t code) {
  const message over = operation;
  device.rma.end(this, code);
  over.signal(code);
}

void rma::on_signal(int rank, tag_t tag, rcomp_t rcomp) {
  status_t status(errorcode_t::done);
  status.rank = rank;
  status.tag = tag;
  device_.runtime.find_rcomp(rcomp, rank)->signal(status);
}

}  // namespace lci::rt
