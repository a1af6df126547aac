#include "lci/runtime/protocol/rendezvous.h"

#include <algorithm>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "lci/base/log.h"
#include "lci/runtime/device.h"
#include "lci/runtime/protocol/control.h"
#include "lci/runtime/runtime.h"

namespace lci::rt {

// ---- sender
// --------------------------------------------------------------------------------------

error_t rendezvous::start(const message& outgoing, bool may_wait) {
  auto registered = device_.runtime.network().register_memory(outgoing.buffer, outgoing.size);
  if (!registered.ok()) {
    throw std::runtime_error(absl::StrCat("lci: can't register the send buffer of ", outgoing.size,
                                          " bytes: ", registered.status().ToString()));
  }
  outgoing_state* state = outgoing_pool_.make();
  state->outgoing = outgoing;
  state->local = *registered;
  state->offset = 0;
  open_.fetch_add(1, std::memory_order_relaxed);
  // In the table before the announcement leaves: the answer may come at once.
  const uint32_t ticket = outgoing_.insert(state, outgoing.rank);

  const rts_header header{outgoing.tag, outgoing.size, outgoing.rcomp, ticket};
  const net::op op = control_op(outgoing.rank, message_kind::rts, header);
  const error_t result = device_.try_submit(op, nullptr);
  if (result.is_done() || result.is_posted()) return errorcode_t::posted;
  if (result.is_retry() && may_wait) {
    device_.backlog.push(op, nullptr);
    return errorcode_t::posted_backlog;
  }
  // The peer has not heard of it. If the state is no longer there, its failure has been found in
  // between, and fail_peer has signalled: then the operation counts as posted.
  if (outgoing_.take(ticket, outgoing.rank) == nullptr) return errorcode_t::posted;
  state->outgoing.comp = nullptr;
  finish(state, errorcode_t::fatal);
  return result;
}

void rendezvous::on_rtr(int rank, const rtr_header& header) {
  outgoing_state* state = outgoing_.take(header.sender_ticket, rank);
  if (state == nullptr) {
    LCI_LOG(error, "rank ", rank, " is ready to receive a message that was never announced to it");
    return;
  }
  state->remote = header.region;
  state->receiver_ticket = header.receiver_ticket;
  state->put_rest(device_);
}

// One put after the other, the next when the one before is over: then its bytes are in place, and
// the last one, which tells the receiver, does not rely on any order of the network.
void rendezvous::outgoing_state::put_rest(device_impl_t& device) {
  do {
    const size_t left = outgoing.size - offset;
    const size_t piece = std::min(left, device.net->limits().max_rma);
    net::op op;
    op.kind = piece == left ? net::op_kind::put_imm : net::op_kind::put;
    op.rank = outgoing.rank;
    op.imm = receiver_ticket;
    op.buffer = static_cast<char*>(outgoing.buffer) + offset;
    op.size = piece;
    op.local = local;
    op.remote = remote;
    op.remote_offset = offset;
    op.context = static_cast<continuation*>(this);
    offset += piece;
    const error_t result = device.net->post(op);
    if (result.is_posted()) return;  // completed() goes on
    if (result.is_retry()) {
      device.backlog.push(op, this);
      return;
    }
    if (result.errorcode == errorcode_t::fatal) {
      device.rendezvous.finish(this, errorcode_t::fatal);
      return;
    }
  } while (!all_put());
  device.rendezvous.finish(this, errorcode_t::done);
}

void rendezvous::outgoing_state::completed(device_impl_t& device, errorcode_t code) {
  if (code == errorcode_t::fatal || all_put()) {
    device.rendezvous.finish(this, code);
  } else {
    put_rest(device);
  }
}

void rendezvous::on_reject(int rank, const reject_header& header) {
  outgoing_state* state = outgoing_.take(header.sender_ticket, rank);
  if (state == nullptr) {
    LCI_LOG(error, "rank ", rank, " rejects a message that was never announced to it");
    return;
  }
  LCI_LOG(error, "rank ", rank, " can't take a message of ", state->outgoing.size,
          " bytes; its own log says why");
  finish(state, errorcode_t::fatal);
}

void rendezvous::finish(outgoing_state* state, errorcode_t code) {
  const message outgoing = state->outgoing;
  device_.runtime.network().deregister_memory(state->local);
  outgoing_pool_.recycle(state);
  open_.fetch_sub(1, std::memory_order_release);
  outgoing.signal(code);
}

// ---- receiver
// ------------------------------------------------------------------------------------

void rendezvous::on_am_announced(const announcement& announced, rcomp_t rcomp) {
  message incoming;
  incoming.rank = announced.rank;
  incoming.size = announced.size;
  incoming.tag = announced.tag;
  incoming.rcomp = rcomp;
  try {
    incoming.comp = device_.runtime.find_rcomp(rcomp, announced.rank);
    incoming.buffer = device_.runtime.allocate(announced.size, announced.rank);
  } catch (...) {
    reject(announced);
    throw;
  }
  accept(announced, incoming);
}

void rendezvous::accept(const announcement& announced, const message& incoming) {
  auto registered = device_.runtime.network().register_memory(incoming.buffer, incoming.size);
  if (!registered.ok()) {
    reject(announced);
    if (incoming.rcomp != 0) device_.runtime.allocator().deallocate(incoming.buffer);
    throw std::runtime_error(absl::StrCat("lci: can't register the buffer for ", incoming.size,
                                          " bytes from rank ", announced.rank, ": ",
                                          registered.status().ToString()));
  }
  incoming_state* state = incoming_pool_.make();
  state->incoming = incoming;
  state->local = *registered;
  open_.fetch_add(1, std::memory_order_relaxed);
  const uint32_t ticket = incoming_.insert(state, announced.rank);

  const rtr_header header{device_.runtime.network().remote_key(*registered),
                          announced.sender_ticket, ticket};
  const net::op op = control_op(announced.rank, message_kind::rtr, header);
  const error_t result = device_.try_submit(op, nullptr);
  if (result.is_retry()) {
    device_.backlog.push(op, nullptr);
  } else if (result.errorcode == errorcode_t::fatal &&
             incoming_.take(ticket, announced.rank) != nullptr) {
    finish(state, errorcode_t::fatal);
  }
}

void rendezvous::reject(const announcement& announced) {
  const reject_header header{announced.sender_ticket};
  device_.submit(control_op(announced.rank, message_kind::reject, header), nullptr);
}

void rendezvous::on_last_put(int rank, net_imm_data_t imm) {
  incoming_state* state = incoming_.take(imm, rank);
  if (state == nullptr) {
    LCI_LOG(error, "rank ", rank, " ended a rendezvous that was not open");
    return;
  }
  finish(state, errorcode_t::done);
}

void rendezvous::finish(incoming_state* state, errorcode_t code) {
  const message incoming = state->incoming;
  device_.runtime.network().deregister_memory(state->local);
  incoming_pool_.recycle(state);
  open_.fetch_sub(1, std::memory_order_release);
  if (code == errorcode_t::fatal && incoming.rcomp != 0) {
    // An active message that never came: nobody here waits for it.
    device_.runtime.allocator().deallocate(incoming.buffer);
    return;
  }
  incoming.signal(code);
}

void rendezvous::fail_peer(int rank) {
  outgoing_.take_all(rank, [this](outgoing_state* state) { finish(state, errorcode_t::fatal); });
  incoming_.take_all(rank, [this](incoming_state* state) { finish(state, errorcode_t::fatal); });
}

}  // namespace lci::rt
