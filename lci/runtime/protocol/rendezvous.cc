#include "lci/runtime/protocol/rendezvous.h"

#include <algorithm>
#include <new>

#include "lci/base/log.h"
#include "lci/observe/subject.h"
#include "lci/runtime/core/throw.h"
#include "lci/runtime/protocol/control.h"
#include "lci/runtime/protocol/host.h"

namespace lci::rt {

int rendezvous::owner_of(const operation& m) const {
  return m.rank + (m.collective ? host_.state.size() : 0);
}

void rendezvous::describe(observe::rank_report* report, uint64_t device) {
  const auto add = [&](const operation& m, bool is_outgoing) {
    observe::rank_report::transfer described;
    described.device = device;
    described.outgoing = is_outgoing;
    described.peer = m.rank;
    described.tag = m.tag;
    described.size = m.size;
    described.collective = m.collective;
    add_entry(report, &report->transfers, described);
  };
  outgoing_.for_each([&](const outgoing_state& state) { add(state.whole, true); });
  incoming_.for_each([&](const incoming_state& state) { add(state.whole, false); });
}

template <class Table>
auto* rendezvous::take(Table* table, uint32_t ticket, int rank) {
  auto* state = table->take(ticket, rank);
  return state != nullptr ? state : table->take(ticket, rank + host_.state.size());
}

// Sender.

bool rendezvous::is_opened(const operation& outgoing) const {
  return !outgoing.collective &&
         host_.state.attr().rdv_protocol == attr_rdv_protocol_t::auto_select &&
         host_.net->is_got_sooner(outgoing.rank, outgoing.size);
}

error_t rendezvous::start(const operation& outgoing, bool opens, bool may_wait) {
  const net::local_region local =
      outgoing.user_packet == nullptr ? outgoing.local : host_.region_of(*outgoing.user_packet);
  // Of a packet, the place in its region is not known.
  if (outgoing.user_packet != nullptr && local.handle != 0) opens = false;
  outgoing_state* state = outgoing_pool_.make();
  state->of = this;
  state->whole = outgoing;
  state->whole.kind = net::op_kind::put;
  state->whole.local = local;
  state->registered = false;
  state->use.offset = outgoing.local_offset;
  state->bytes = {};
  const bool must_register =
      outgoing.user_packet == nullptr && host_.net->limits(outgoing.rank).needs_registration;
  if (local.handle == 0 && (must_register || opens)) {
    auto registered = host_.register_for_use(outgoing.buffer, outgoing.size);
    if (registered.ok()) {
      state->use = *registered;
      state->whole.local = state->use.local;
      state->registered = true;
    } else if (must_register) {
      outgoing_pool_.recycle(state);
      throw_runtime_error("can't register the send buffer of ", outgoing.size,
                          " bytes: ", registered.status().ToString());
    } else {
      opens = false;
    }
  }
  if (opens) state->bytes = {host_.network().remote_key(state->whole.local), state->use.offset};
  open_.fetch_add(1, std::memory_order_relaxed);
  const error_t result = announce(state, may_wait);
  if (result.is_posted()) return result;
  if (result.is_retry() && may_wait) {
    host_.backlog.push(state, backlog::side::sender);
    return errorcode_t::posted_backlog;
  }
  // The peer has not heard of it.
  state->whole.comp = nullptr;
  state->whole.user_packet = nullptr;
  finish(state, errorcode_t::fatal);
  return result;
}

bool rendezvous::is_lost(const operation& m) const {
  return host_.state.has_failed(m.rank) || (m.collective && host_.state.any_failed());
}

error_t rendezvous::announce(outgoing_state* state, bool may_wait) {
  // A copy: after the insertion the state belongs to the thread that takes it out again.
  const operation outgoing = state->whole;
  const open_bytes bytes = state->bytes;
  // In the table before the announcement leaves: the answer may come at once.
  const int owner = owner_of(outgoing);
  const uint32_t ticket = outgoing_.insert(state, owner);
  if (__builtin_expect(ticket == outgoing_.none, 0)) return errorcode_t::retry_nomem;

  rts_open_header header{{}, bytes};
  rts_header& announced = header.announced;
  if (outgoing.rcomp == 0) {
    announced.match = make_match_header(outgoing);
  } else {
    announced.match.tag = outgoing.tag;
  }
  announced.size = outgoing.size;
  announced.rcomp = outgoing.rcomp;
  announced.sender_ticket = ticket;
  const bool opens = bytes.region.key != 0;
  net::op op =
      control_op(outgoing.rank, opens ? message_kind::rts_open : message_kind::rts, announced);
  if (opens) {
    op.buffer = &header.bytes;
    op.size = sizeof(header.bytes);
  }
  const error_t result = host_.try_submit(op, nullptr);
  // The backlog keeps no more of a message than a header, so an open one begins anew.
  const bool waits = result.is_retry() && may_wait && !opens;
  if (result.is_done() || result.is_posted() || waits) {
    if (waits) host_.backlog.push(op, nullptr);
    // A rank may have failed before the state was there to be found.
    if (outgoing.collective && host_.state.any_failed() &&
        outgoing_.take(ticket, owner) != nullptr) {
      finish(state, errorcode_t::fatal);
    }
    return waits ? errorcode_t::posted_backlog : errorcode_t::posted;
  }
  // If the state is no longer there, the peer's failure has been found in between, and fail_peer
  // has signaled: then the operation counts as posted.
  return outgoing_.take(ticket, owner) == nullptr ? error_t(errorcode_t::posted) : result;
}

bool rendezvous::outgoing_state::try_begin(protocol_host&) {
  rendezvous& conversations = *of;
  const error_t result = conversations.is_lost(whole)
                             ? error_t(errorcode_t::fatal)
                             : conversations.announce(this, /*may_wait=*/true);
  if (result.errorcode == errorcode_t::fatal) conversations.finish(this, errorcode_t::fatal);
  return !result.is_retry();
}

bool rendezvous::last_put_notifies() const {
  return host_.has_put_imm32() && host_.state.attr().rdv_protocol != attr_rdv_protocol_t::write;
}

void rendezvous::on_rtr(int rank, const rtr_header& header) {
  outgoing_state* state = take(&outgoing_, header.sender_ticket, rank);
  if (state == nullptr) {
    LCI_LOG(error, "rank ", rank, " is ready to receive a message that was never announced to it");
    return;
  }
  operation& put = state->whole;
  put.rank = rank;
  put.remote = header.region;
  put.remote_offset = header.offset;
  put.imm = header.receiver_ticket;
  put.latency_critical = true;
  state->receiver_ticket = header.receiver_ticket;
  state->notifies = last_put_notifies();
  const error_t result = state->start(host_, /*may_wait=*/true);
  if (!result.is_posted()) state->finished(host_, result.errorcode);
}

void rendezvous::outgoing_state::finished(protocol_host& host, errorcode_t code) {
  if (code != errorcode_t::fatal && !notifies) {
    const fin_header header{receiver_ticket};
    host.submit(control_op(whole.rank, message_kind::fin, header), nullptr);
  }
  of->finish(this, code);
}

void rendezvous::on_reject(int rank, const reject_header& header) {
  outgoing_state* state = take(&outgoing_, header.sender_ticket, rank);
  if (state == nullptr) {
    LCI_LOG(error, "rank ", rank, " rejects a message that was never announced to it");
    return;
  }
  LCI_LOG(error, "rank ", rank, " can't take a message of ", state->whole.size,
          " bytes; its own log says why");
  finish(state, errorcode_t::fatal);
}

void rendezvous::on_taken(int rank, uint32_t sender_ticket) {
  outgoing_state* state = take(&outgoing_, sender_ticket, rank);
  if (state == nullptr) {
    LCI_LOG(error, "rank ", rank, " has taken a message that was never announced to it");
    return;
  }
  finish(state, errorcode_t::done);
}

void rendezvous::finish(outgoing_state* state, errorcode_t code) {
  const operation outgoing = state->whole;
  if (state->registered) host_.end_use(state->use);
  outgoing_pool_.recycle(state);
  open_.fetch_sub(1, std::memory_order_release);
  outgoing.signal(code);
}

// Receiver.

void rendezvous::on_am_announced(const announcement& announced, rcomp_t rcomp) {
  operation incoming;
  incoming.rank = announced.rank;
  incoming.size = announced.size;
  incoming.tag = announced.tag;
  incoming.rcomp = rcomp;
  try {
    incoming.comp = host_.state.find_rcomp(rcomp, announced.rank);
    host_.find_room_for_am(&incoming);
  } catch (...) {
    reject(announced);
    throw;
  }
  accept(announced, incoming);
}

void rendezvous::accept(const announcement& announced, const operation& incoming) {
  incoming_state* const state = prepare(announced, incoming);
  if (!announced.is_open()) {
    if (!answer(state)) host_.backlog.push(state, backlog::side::receiver);
    return;
  }
  operation& get = state->whole;
  get.kind = net::op_kind::get;
  get.remote = announced.bytes.region;
  get.remote_offset = announced.bytes.offset;
  get.local = state->use.local;
  get.latency_critical = true;
  const error_t result = state->start(host_, /*may_wait=*/true);
  if (!result.is_posted()) state->finished(host_, result.errorcode);
}

rendezvous::incoming_state* rendezvous::prepare(const announcement& announced,
                                                const operation& incoming) {
  incoming_state* state = incoming_pool_.make();
  state->of = this;
  state->whole = incoming;
  state->use.local = incoming.local;
  state->use.offset = incoming.local_offset;
  state->registered =
      incoming.local.handle == 0 &&
      (!announced.is_open() || host_.net->limits(announced.rank).needs_registration);
  if (state->registered) {
    auto registered = host_.register_for_use(incoming.buffer, incoming.size);
    if (!registered.ok()) {
      incoming_pool_.recycle(state);
      reject(announced);
      if (incoming.rcomp != 0) {
        host_.free_of_am(incoming, /*may_be_written=*/false);
      } else {
        incoming.signal(errorcode_t::fatal);
      }
      throw_runtime_error("can't register the buffer for ", incoming.size, " bytes from rank ",
                          announced.rank, ": ", registered.status().ToString());
    }
    state->use = *registered;
  }
  state->sender_ticket = announced.sender_ticket;
  open_.fetch_add(1, std::memory_order_relaxed);
  return state;
}

void rendezvous::incoming_state::finished(protocol_host& host, errorcode_t code) {
  const bool failed = code == errorcode_t::fatal;
  if (failed) {
    if (!host.state.has_failed(whole.rank)) {
      LCI_LOG(error, "can't read a message of ", whole.size, " bytes in the memory of rank ",
              whole.rank);
    }
    const reject_header header{sender_ticket};
    host.submit(control_op(whole.rank, message_kind::reject, header), nullptr);
  } else {
    const taken_header header{sender_ticket};
    host.submit(control_op(whole.rank, message_kind::taken, header), nullptr);
  }
  of->finish(this, failed ? errorcode_t::fatal : errorcode_t::done);
}

bool rendezvous::answer(incoming_state* state) {
  // Before the insertion: after it the state belongs to the thread that takes it out again.
  rtr_header header{host_.network().remote_key(state->use.local), state->use.offset,
                    state->sender_ticket, 0};
  const int rank = state->whole.rank;
  const bool collective = state->whole.collective;
  const int owner = owner_of(state->whole);
  const uint32_t ticket = incoming_.insert(state, owner);
  if (__builtin_expect(ticket == incoming_.none, 0)) return false;
  header.receiver_ticket = ticket;
  const net::op op = control_op(rank, message_kind::rtr, header);
  const error_t result = host_.try_submit(op, nullptr);
  if (result.is_retry()) {
    host_.backlog.push(op, nullptr);
  }
  const bool failed =
      result.errorcode == errorcode_t::fatal || (collective && host_.state.any_failed());
  if (failed && incoming_.take(ticket, owner) != nullptr) finish(state, errorcode_t::fatal);
  return true;
}

bool rendezvous::incoming_state::try_begin(protocol_host&) {
  rendezvous& conversations = *of;
  if (!conversations.is_lost(whole)) return conversations.answer(this);
  conversations.finish(this, errorcode_t::fatal);
  return true;
}

packet* rendezvous::take_early(const announcement& announced) {
  const net::device_limits& limits = host_.net->limits(announced.rank);
  if (announced.size > limits.max_send || limits.needs_registration) return nullptr;
  packet* copy = nullptr;
  try {
    copy = host_.packets().get_for(announced.size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  net::op get;
  get.kind = net::op_kind::get;
  get.rank = announced.rank;
  get.remote = announced.bytes.region;
  const size_t most = std::min(host_.max_rma(), limits.max_rma);
  for (size_t at = 0; at < announced.size; at += get.size) {
    get.buffer = copy->payload() + at;
    get.size = std::min(most, announced.size - at);
    get.remote_offset = announced.bytes.offset + at;
    if (!host_.net->post(get).is_done()) {
      copy->put();
      return nullptr;
    }
  }
  const taken_header header{announced.sender_ticket};
  host_.submit(control_op(announced.rank, message_kind::taken, header), nullptr);
  return copy;
}

void rendezvous::reject(const announcement& announced) {
  const reject_header header{announced.sender_ticket};
  host_.submit(control_op(announced.rank, message_kind::reject, header), nullptr);
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
  const operation incoming = state->whole;
  if (state->registered) host_.end_use(state->use);
  incoming_pool_.recycle(state);
  open_.fetch_sub(1, std::memory_order_release);
  if (code == errorcode_t::fatal && incoming.rcomp != 0) {
    // An active message that never came: nobody here waits for it.
    host_.free_of_am(incoming, /*may_be_written=*/true);
    return;
  }
  if (incoming.rcomp == 0 || !incoming.comp->attr.lend_am) {
    incoming.signal(code);
    return;
  }
  // The object may be gone after its signal, which may also throw.
  struct lent {
    ~lent() { host.free_of_am(incoming, /*may_be_written=*/false); }
    protocol_host& host;
    const operation& incoming;
  };
  const lent bytes{host_, incoming};
  incoming.signal(code);
}

void rendezvous::fail_peer(int rank) {
  const auto end = [this](int owner) {
    outgoing_.take_all(owner, [this](outgoing_state* state) { finish(state, errorcode_t::fatal); });
    incoming_.take_all(owner, [this](incoming_state* state) { finish(state, errorcode_t::fatal); });
  };
  end(rank);
  const int ranks = host_.state.size();
  for (int r = 0; r < ranks; ++r) end(r + ranks);
}

}  // namespace lci::rt
