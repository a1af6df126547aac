#include "lci/runtime/protocol/rendezvous.h"

#include <stdexcept>

#include "lci/base/log.h"
#include "lci/base/strings.h"
#include "lci/observe/subject.h"
#include "lci/runtime/device.h"
#include "lci/runtime/protocol/control.h"
#include "lci/runtime/runtime.h"

namespace lci::rt {

int rendezvous::owner_of(const message& m) const {
  return m.rank + (m.collective ? device_.runtime.size() : 0);
}

void rendezvous::describe(observe::rank_report* report, uint64_t device) {
  const auto add = [&](const message& m, bool is_outgoing) {
    observe::rank_report::transfer described;
    described.device = device;
    described.outgoing = is_outgoing;
    described.peer = m.rank;
    described.tag = m.tag;
    described.size = m.size;
    described.collective = m.collective;
    add_entry(report, &report->transfers, described);
  };
  outgoing_.for_each([&](const outgoing_state& state) { add(state.outgoing, true); });
  incoming_.for_each([&](const incoming_state& state) { add(state.incoming, false); });
}

template <class Table>
auto* rendezvous::take(Table* table, uint32_t ticket, int rank) {
  auto* state = table->take(ticket, rank);
  return state != nullptr ? state : table->take(ticket, rank + device_.runtime.size());
}

// ---- sender -------------------------------------------------------------------------------------

error_t rendezvous::start(const message& outgoing, bool may_wait) {
  const net::local_region local =
      outgoing.user_packet == nullptr ? outgoing.local : device_.region_of(*outgoing.user_packet);
  outgoing_state* state = outgoing_pool_.make();
  state->outgoing = outgoing;
  state->local = local;
  state->registered = false;
  if (outgoing.user_packet != nullptr) {
    // It is.
  } else if (device_.net->needs_registration(outgoing.rank) && outgoing.local.handle == 0) {
    auto registered = device_.register_for_use(outgoing.buffer, outgoing.size);
    if (!registered.ok()) {
      outgoing_pool_.recycle(state);
      throw std::runtime_error(base::StrCat("lci: can't register the send buffer of ",
                                            outgoing.size,
                                            " bytes: ", registered.status().ToString()));
    }
    state->use = *registered;
    state->local = state->use.local;
    state->registered = true;
  }
  open_.fetch_add(1, std::memory_order_relaxed);
  const error_t result = announce(state, may_wait);
  if (result.is_posted()) return result;
  if (result.is_retry() && may_wait) {
    device_.backlog.push(state, backlog::side::sender);
    return errorcode_t::posted_backlog;
  }
  // The peer has not heard of it.
  state->outgoing.comp = nullptr;
  state->outgoing.user_packet = nullptr;
  finish(state, errorcode_t::fatal);
  return result;
}

bool rendezvous::is_lost(const message& m) const {
  return device_.runtime.has_failed(m.rank) || (m.collective && device_.runtime.any_failed());
}

error_t rendezvous::announce(outgoing_state* state, bool may_wait) {
  // A copy: behind the insertion the state belongs to whoever takes it out again.
  const message outgoing = state->outgoing;
  // In the table before the announcement leaves: the answer may come at once.
  const int owner = owner_of(outgoing);
  const uint32_t ticket = outgoing_.insert(state, owner);
  if (__builtin_expect(ticket == outgoing_.none, 0)) return errorcode_t::retry_nomem;

  rts_header header{};
  if (outgoing.rcomp == 0) {
    header.match = make_match_header(outgoing);
  } else {
    header.match.tag = outgoing.tag;
  }
  header.size = outgoing.size;
  header.rcomp = outgoing.rcomp;
  header.sender_ticket = ticket;
  const net::op op = control_op(outgoing.rank, message_kind::rts, header);
  const error_t result = device_.try_submit(op, nullptr);
  if (result.is_done() || result.is_posted() || (result.is_retry() && may_wait)) {
    if (result.is_retry()) device_.backlog.push(op, nullptr);
    // A rank may have failed before the state was there to be found.
    if (outgoing.collective && device_.runtime.any_failed() &&
        outgoing_.take(ticket, owner) != nullptr) {
      finish(state, errorcode_t::fatal);
    }
    return result.is_retry() ? errorcode_t::posted_backlog : errorcode_t::posted;
  }
  // If the state is no longer there, the peer's failure has been found in between, and fail_peer
  // has signalled: then the operation counts as posted.
  return outgoing_.take(ticket, owner) == nullptr ? error_t(errorcode_t::posted) : result;
}

bool rendezvous::outgoing_state::try_begin(device_impl_t& device) {
  rendezvous& conversations = device.rendezvous;
  const error_t result = conversations.is_lost(outgoing)
                             ? error_t(errorcode_t::fatal)
                             : conversations.announce(this, /*may_wait=*/true);
  if (result.errorcode == errorcode_t::fatal) conversations.finish(this, errorcode_t::fatal);
  return !result.is_retry();
}

bool rendezvous::last_put_tells() const {
  return device_.has_put_imm32() &&
         device_.runtime.attr().rdv_protocol != attr_rdv_protocol_t::write;
}

void rendezvous::on_rtr(int rank, const rtr_header& header) {
  outgoing_state* state = take(&outgoing_, header.sender_ticket, rank);
  if (state == nullptr) {
    LCI_LOG(error, "rank ", rank, " is ready to receive a message that was never announced to it");
    return;
  }
  state->kind = net::op_kind::put;
  state->rank = rank;
  state->buffer = state->outgoing.buffer;
  state->size = state->outgoing.size;
  state->remote = header.region;
  state->remote_offset = header.offset;
  state->receiver_ticket = header.receiver_ticket;
  state->tells = last_put_tells();
  state->imm = header.receiver_ticket;
  state->latency_critical = true;
  const error_t result = state->start(device_, /*may_wait=*/true);
  if (!result.is_posted()) state->finished(device_, result.errorcode);
}

void rendezvous::outgoing_state::finished(device_impl_t& device, errorcode_t code) {
  if (code != errorcode_t::fatal && !tells) {
    const fin_header header{receiver_ticket};
    device.submit(control_op(rank, message_kind::fin, header), nullptr);
  }
  device.rendezvous.finish(this, code);
}

void rendezvous::on_reject(int rank, const reject_header& header) {
  outgoing_state* state = take(&outgoing_, header.sender_ticket, rank);
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
  if (state->registered) device_.end_use(state->use);
  outgoing_pool_.recycle(state);
  open_.fetch_sub(1, std::memory_order_release);
  outgoing.signal(code);
}

// ---- receiver -----------------------------------------------------------------------------------

void rendezvous::on_am_announced(const announcement& announced, rcomp_t rcomp) {
  message incoming;
  incoming.rank = announced.rank;
  incoming.size = announced.size;
  incoming.tag = announced.tag;
  incoming.rcomp = rcomp;
  try {
    incoming.comp = device_.runtime.find_rcomp(rcomp, announced.rank);
    incoming.buffer = device_.allocate_for_am(*incoming.comp, announced.size, announced.rank);
  } catch (...) {
    reject(announced);
    throw;
  }
  accept(announced, incoming);
}

void rendezvous::accept(const announcement& announced, const message& incoming) {
  incoming_state* state = incoming_pool_.make();
  state->incoming = incoming;
  state->use.local = incoming.local;
  state->use.offset = incoming.local_offset;
  state->registered = incoming.local.handle == 0;
  if (state->registered) {
    auto registered = device_.register_for_use(incoming.buffer, incoming.size);
    if (!registered.ok()) {
      incoming_pool_.recycle(state);
      reject(announced);
      if (incoming.rcomp != 0) {
        device_.free_of_am(incoming.comp->attr.zero_copy_am, incoming.buffer);
      } else {
        incoming.signal(errorcode_t::fatal);
      }
      throw std::runtime_error(base::StrCat("lci: can't register the buffer for ", incoming.size,
                                            " bytes from rank ", announced.rank, ": ",
                                            registered.status().ToString()));
    }
    state->use = *registered;
  }
  state->sender_ticket = announced.sender_ticket;
  open_.fetch_add(1, std::memory_order_relaxed);
  if (!answer(state)) device_.backlog.push(state, backlog::side::receiver);
}

bool rendezvous::answer(incoming_state* state) {
  // Before the insertion, behind which the state belongs to whoever takes it out again.
  rtr_header header{device_.network().remote_key(state->use.local), state->use.offset,
                    state->sender_ticket, 0};
  const int rank = state->incoming.rank;
  const bool collective = state->incoming.collective;
  const int owner = owner_of(state->incoming);
  const uint32_t ticket = incoming_.insert(state, owner);
  if (__builtin_expect(ticket == incoming_.none, 0)) return false;
  header.receiver_ticket = ticket;
  const net::op op = control_op(rank, message_kind::rtr, header);
  const error_t result = device_.try_submit(op, nullptr);
  if (result.is_retry()) {
    device_.backlog.push(op, nullptr);
  }
  const bool failed =
      result.errorcode == errorcode_t::fatal || (collective && device_.runtime.any_failed());
  if (failed && incoming_.take(ticket, owner) != nullptr) finish(state, errorcode_t::fatal);
  return true;
}

bool rendezvous::incoming_state::try_begin(device_impl_t& device) {
  rendezvous& conversations = device.rendezvous;
  if (!conversations.is_lost(incoming)) return conversations.answer(this);
  conversations.finish(this, errorcode_t::fatal);
  return true;
}

void rendezvous::reject(const announcement& announced) {
  const reject_header header{announced.sender_ticket};
  device_.submit(control_op(announced.rank, message_kind::reject, header), nullptr);
}

void rendezvous::on_end(int rank, uint32_t receiver_ticket) {
  incoming_state* state = take(&incoming_, receiver_ticket, rank);
  if (state == nullptr) {
    LCI_LOG(error, "rank ", rank, " ended a rendezvous that was not open");
    return;
  }
  finish(state, errorcode_t::done);
}

void rendezvous::finish(incoming_state* state, errorcode_t code) {
  const message incoming = state->incoming;
  if (state->registered) device_.end_use(state->use);
  incoming_pool_.recycle(state);
  open_.fetch_sub(1, std::memory_order_release);
  if (code == errorcode_t::fatal && incoming.rcomp != 0) {
    // An active message that never came: nobody here waits for it.
    device_.free_of_am(incoming.comp->attr.zero_copy_am, incoming.buffer);
    return;
  }
  if (incoming.rcomp == 0 || !incoming.comp->attr.lend_am) {
    incoming.signal(code);
    return;
  }
  // The object may be gone after its signal, which may also throw.
  struct lent {
    ~lent() { device.free_of_am(in_packet, buffer); }
    device_impl_t& device;
    const bool in_packet;
    void* const buffer;
  };
  const lent bytes{device_, incoming.comp->attr.zero_copy_am, incoming.buffer};
  incoming.signal(code);
}

void rendezvous::fail_peer(int rank) {
  const auto end = [this](int owner) {
    outgoing_.take_all(owner, [this](outgoing_state* state) { finish(state, errorcode_t::fatal); });
    incoming_.take_all(owner, [this](incoming_state* state) { finish(state, errorcode_t::fatal); });
  };
  end(rank);
  const int ranks = device_.runtime.size();
  for (int r = 0; r < ranks; ++r) end(r + ranks);
}

}  // namespace lci::rt
