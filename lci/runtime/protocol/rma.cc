#include "lci/runtime/protocol/rma.h"

#include "lci/base/log.h"
#include "lci/runtime/completion/signal.h"
#include "lci/runtime/core/throw.h"
#include "lci/runtime/protocol/control.h"
#include "lci/runtime/protocol/host.h"

namespace lci::rt {

// Notification of the target.

bool notifies(const protocol_host& host, operation* put, const remote_signal& signal) {
  if (put->kind != net::op_kind::put) return false;
  if (signal.signal != 0) {
    if (!host.signals().fits(signal)) return false;
    if (host.has_remote_add() && signal.counter.key != 0) return false;
    put->imm = host.signals().encode(signal);
    put->imm_high = host.signals().encode_high(signal);
    return true;
  }
  if (put->rcomp == 0 || !host.has_put_imm32()) return false;
  const imm_layout& layout = host.state.imm();
  if (!layout.fits(put->tag, put->rcomp)) return false;
  put->imm = layout.encode(put->tag, put->rcomp);
  put->imm_high = 0;
  return true;
}

void notify_target(protocol_host& host, const operation& finished, const remote_signal& signal) {
  if (signal.signal == 0) {
    if (finished.rcomp == 0) return;
    const remote_completion_header header{finished.tag, finished.rcomp, 0};
    host.submit(control_op(finished.rank, message_kind::remote_completion, header), nullptr);
    return;
  }
  if (host.has_remote_add() && signal.counter.key != 0 &&
      host.net->add(finished.rank, signal.counter, signal.counter_offset,
                    addend_of(signal.part, signal.event_bits))) {
    return;
  }
  const signal_event& event = signal;
  host.submit(control_op(finished.rank, message_kind::event, event), nullptr);
}

// Operations.

namespace {

// A put or get that the network had accepted has failed, although its target is alive. The program
// learns only that it failed.
void log_refusal(const operation& failed) {
  const bool is_get = failed.kind == net::op_kind::get;
  LCI_LOG(
      error, is_get ? "a get of " : "a put of ", failed.size, is_get ? " bytes from" : " bytes to",
      " byte ", failed.remote_offset, " of memory of rank ", failed.rank,
      " has failed: rmr names memory that is closed there (deregister_memory, free_mr) or that is "
      "of another rank or runtime, or the network can't reach it");
}

}  // namespace

error_t rma_transfer::start(protocol_host& host, bool may_wait) {
  notifies = rt::notifies(host, &whole, signal);
  // Another thread may end it before this returns, and with it this object.
  const error_t result = pieces::start(host, may_wait);
  if (result.is_done()) notify_target(host);
  return result;
}

void rma_transfer::notify_target(protocol_host& host) const {
  if (!notifies) rt::notify_target(host, whole, signal);
}

void rma_transfer::finished(protocol_host& host, errorcode_t code) {
  if (code == errorcode_t::done) {
    notify_target(host);
  } else if (!host.is_gone(whole.rank)) {
    log_refusal(whole);
  }
  transfer_ended(host, code);
}

bool rma::completes_immediately(int rank, size_t size, net::local_region local) const {
  const net::device_limits& limits = host_.net->limits(rank);
  return size < limits.rma_short && size <= host_.max_rma() && size <= limits.max_rma &&
         (!limits.needs_registration || local.handle != 0);
}

// Needs no state, since it is over when the network has taken it. (Not by value: what has been
// written word by word is copied by larger loads, which wait.)
error_t rma::start_short(operation& started, const remote_signal& signal) {
  const net::op_kind kind = started.kind;
  const bool notified = notifies(host_, &started, signal);
  if (notified) started.kind = net::op_kind::put_imm;
  const error_t result = host_.net->post(started);
  started.kind = kind;
  if (!result.is_done()) return result;
  if (!notified) notify_target(host_, started, signal);
  started.release();
  return result;
}

error_t rma::start(operation& started, bool may_wait, const remote_signal& signal) {
  if (completes_immediately(started.rank, started.size, started.local)) {
    const error_t result = start_short(started, signal);
    if (!may_wait || !result.is_retry()) return result;
  }
  state* made = states_.make();
  made->of = this;
  made->whole = started;
  made->signal = signal;
  made->registered = false;
  if (host_.net->limits(started.rank).needs_registration && started.local.handle == 0) {
    auto registered = host_.register_for_use(started.buffer, started.size);
    if (!registered.ok()) {
      states_.recycle(made);
      throw_runtime_error("can't register the local buffer of ", started.size,
                          " bytes: ", registered.status().ToString());
    }
    made->use = *registered;
    made->whole.local = made->use.local;
    made->registered = true;
  }
  opened();
  const error_t result = made->start(host_, may_wait);
  if (!result.is_posted()) {
    end(made);
    if (result.is_done()) started.release();
  }
  return result;
}

void rma::end(state* finished) {
  if (finished->registered) host_.end_use(finished->use);
  states_.recycle(finished);
  closed();
}

void rma::state::transfer_ended(protocol_host&, errorcode_t code) {
  const operation ended = whole;
  of->end(this);
  ended.signal(code);
}

// Target.

void rma::on_event(int rank, const signal_event& event) {
  host_.state.find_signal(event.signal, rank)->arrived(event.part);
}

}  // namespace lci::rt
