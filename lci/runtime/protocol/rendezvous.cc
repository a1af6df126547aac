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
    report->named_objects.insert(m.comp);
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

bool rendezvous::may_open(const operation& outgoing) const {
  return !outgoing.collective && outgoing.size <= largest_open &&
         host_.state.attr().rdv_protocol == attr_rdv_protocol_t::auto_select;
}

bool rendezvous::is_opened(const operation& outgoing) const {
  return may_open(outgoing) && host_.net->is_got_sooner(outgoing.rank, outgoing.size, open() == 0);
}

error_t rendezvous::start(const operation& outgoing, bool opens, bool may_wait) {
  outgoing_state* state = outgoing_pool_.make();
  state->of = this;
  state->whole = outgoing;
  state->whole.kind = net::op_kind::put;
  if (outgoing.user_packet != nullptr) state->whole.local = host_.region_of(*outgoing.user_packet);
  state->registered = false;
  state->opens = opens;
  state->announced.reset();
  const net::device_limits& limits = host_.net->limits(outgoing.rank);
  if (outgoing.size < limits.timed_below && may_open(outgoing) && open() == 0) {
    state->announced = std::chrono::steady_clock::now();
  }
  if (!opens && state->whole.local.handle == 0 && outgoing.user_packet == nullptr &&
      limits.needs_registration) {
    auto registered = host_.register_for_use(outgoing.buffer, outgoing.size);
    if (!registered.ok()) {
      outgoing_pool_.recycle(state);
      throw_runtime_error("can't register the send buffer of ", outgoing.size,
                          " bytes: ", registered.status().ToString());
    }
    state->use = *registered;
    state->whole.local = state->use.local;
    state->registered = true;
  }
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
  const operation& outgoing = state->whole;
  match_header match{};
  match.tag = outgoing.tag;
  if (outgoing.rcomp == 0) match = make_match_header(outgoing);
  if (state->opens) {
    const auto size = static_cast<uint32_t>(outgoing.size);
    const auto address = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(outgoing.buffer));
    const rts_open_header header{match.tag, match.engine, match.policy,   0,
                                 size,      address,      outgoing.rcomp, 0};
    return announce_as(state, message_kind::rts_open, header, may_wait);
  }
  const rts_header header{match, outgoing.size, outgoing.rcomp, 0};
  return announce_as(state, message_kind::rts, header, may_wait);
}

template <class Header>
error_t rendezvous::announce_as(outgoing_state* state, message_kind kind, Header header,
                                bool may_wait) {
  // Copies: after the insertion the state belongs to the thread that takes it out again.
  const int rank = state->whole.rank;
  const bool collective = state->whole.collective;
  // In the table before the announcement leaves: the answer may come at once.
  const int owner = owner_of(state->whole);
  const uint32_t ticket = outgoing_.insert(state, owner);
  if (__builtin_expect(ticket == outgoing_.none, 0)) return errorcode_t::retry_nomem;

  header.sender_ticket = ticket;
  const net::op op = control_op(rank, kind, header);
  const error_t result = host_.try_submit(op, nullptr);
  const bool waits = result.is_retry() && may_wait;
  if (result.is_done() || result.is_posted() || waits) {
    if (waits) host_.backlog.push(op, nullptr, result);
    // A rank may have failed before the state was there to be found.
    if (collective && host_.state.any_failed() && outgoing_.take(ticket, owner) != nullptr) {
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
  const bool failed = code == errorcode_t::fatal;
  if (failed && !host.is_gone(whole.rank)) {
    LCI_LOG(error, "can't write a message of ", whole.size, " bytes to the memory of rank ",
            whole.rank);
  }
  // Otherwise the receiver would wait for ever.
  if (failed || !notifies) {
    const fin_header header{receiver_ticket, failed ? 1u : 0u};
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
  if (state->announced && code == errorcode_t::done && open() == 1) {
    host_.net->came(outgoing.rank, outgoing.size, state->opens,
                    std::chrono::steady_clock::now() - *state->announced);
  }
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
  if (announced.is_open()) return get(announced, incoming);
  incoming_state* const state = prepare(announced, incoming);
  if (!answer(state)) host_.backlog.push(state, backlog::side::receiver);
}

bool rendezvous::read(const announcement& announced, void* to) {
  if (!host_.net->read_memory(announced.rank, to, announced.address, announced.size)) return false;
  const taken_header header{announced.sender_ticket};
  host_.submit(control_op(announced.rank, message_kind::taken, header), nullptr);
  return true;
}

void rendezvous::get(const announcement& announced, const operation& incoming) {
  if (read(announced, incoming.buffer)) return end(incoming, errorcode_t::done);
  if (!host_.is_gone(announced.rank)) {
    LCI_LOG(error, "can't read a message of ", announced.size, " bytes in the memory of rank ",
            announced.rank);
  }
  reject(announced);
  end(incoming, errorcode_t::fatal);
}

rendezvous::incoming_state* rendezvous::prepare(const announcement& announced,
                                                const operation& incoming) {
  incoming_state* state = incoming_pool_.make();
  state->of = this;
  state->whole = incoming;
  state->use.local = incoming.local;
  state->use.offset = incoming.local_offset;
  state->registered = incoming.local.handle == 0;
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
    host_.backlog.push(op, nullptr, result);
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
  if (announced.size > host_.net->limits(announced.rank).max_send) return nullptr;
  packet* copy = nullptr;
  try {
    copy = host_.packets().get_for(announced.size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  if (read(announced, copy->payload())) return copy;
  copy->put();
  return nullptr;
}

void rendezvous::reject(const announcement& announced) {
  const reject_header header{announced.sender_ticket};
  host_.submit(control_op(announced.rank, message_kind::reject, header), nullptr);
}

void rendezvous::on_end(int rank, uint32_t receiver_ticket, bool failed) {
  incoming_state* state = take(&incoming_, receiver_ticket, rank);
  if (state == nullptr) {
    LCI_LOG(error, "rank ", rank, " ended a rendezvous that was not open");
    return;
  }
  if (failed) {
    LCI_LOG(error, "rank ", rank, " can't write a message of ", state->whole.size,
            " bytes here; its own log says why");
  }
  finish(state, failed ? errorcode_t::fatal : errorcode_t::done);
}

void rendezvous::finish(incoming_state* state, errorcode_t code) {
  const operation incoming = state->whole;
  if (state->registered) host_.end_use(state->use);
  incoming_pool_.recycle(state);
  open_.fetch_sub(1, std::memory_order_release);
  end(incoming, code);
}

void rendezvous::end(const operation& incoming, errorcode_t code) {
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
