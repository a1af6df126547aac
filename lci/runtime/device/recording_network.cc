#include "lci/runtime/device/recording_network.h"

#include <algorithm>

namespace lci::rt {

using observe::event;
using observe::event_kind;
using observe::wire_form;

namespace {

uint64_t pair_of(uint32_t low, uint32_t high) { return low | uint64_t{high} << 32; }

uint32_t since(uint64_t time) {
  return static_cast<uint32_t>(std::min<uint64_t>(observe::recorder::now() - time, ~uint32_t{0}));
}

// Names an operation by the address of its state, which no other one has meanwhile.
uint32_t name_of(const void* context) {
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(context) >> 4);
}

// Whether the target counts it: see `counts`.
bool notifies(wire_form form) {
  return form == wire_form::put_notify || form == wire_form::put_end;
}

}  // namespace

recording_network::recording_network(std::unique_ptr<net::device> network, const place& where)
    : forwarding_network(std::move(network)),
      where_(where),
      has_wide_imm_(limits_.has_put_imm && limits_.put_imm_bits >= 32),
      pages_((static_cast<size_t>(where.ranks) + page_ranks - 1) / page_ranks) {}

recording_network::~recording_network() {
  for (std::atomic<page*>& each : pages_) delete each.load(std::memory_order_relaxed);
}

recording_network::counts& recording_network::counts_of(int rank) {
  const auto number = static_cast<size_t>(rank);
  std::atomic<page*>& slot = pages_[number / page_ranks];
  // P1: acquire pairs with P2.
  page* found = slot.load(std::memory_order_acquire);
  if (__builtin_expect(found == nullptr, 0)) {
    auto made = std::make_unique<page>();
    // P2: release, so that a thread that finds the page finds it empty.
    if (slot.compare_exchange_strong(found, made.get(), std::memory_order_acq_rel)) {
      found = made.release();
    }
  }
  return found->ranks[number % page_ranks];
}

event recording_network::make(event_kind kind, uint64_t time, int rank) const {
  event made;
  made.time = time;
  made.kind = kind;
  made.context = where_.context;
  made.device = where_.device;
  made.peer = rank;
  return made;
}

// Kinds of messages.

void recording_network::describe_message(net_imm_data_t imm, const void* bytes, size_t known,
                                         size_t size, event* out) const {
  const auto set = [out](wire_form form, size_t bytes_of_program, tag_t tag, uint64_t detail) {
    out->form = form;
    out->size = bytes_of_program;
    out->tag = tag;
    out->detail = detail;
  };
  if (is_short(imm)) {
    return set(wire_form::active_message, size, where_.imm.tag(imm), where_.imm.rcomp(imm));
  }
  if (is_short_tagged(imm)) return set(wire_form::tagged, size, short_tag(imm), default_engine);
  const auto without = [size](size_t header) { return size - std::min(size, header); };
  const auto set_owner = [out](const match_header& match) {
    if (match.collective != 0) out->flags |= event::of_library;
  };
  const auto set_announced = [&](const rts_header& header) {
    set(wire_form::ready_to_send, header.size, header.match.tag,
        pair_of(header.sender_ticket, header.rcomp));
    set_owner(header.match);
  };
  const overloaded describe_header = {
      [&](const am_header& header) {
        set(wire_form::active_message, without(sizeof(header)), header.tag, header.rcomp);
      },
      [&](const tagged_header& header) {
        set(wire_form::tagged, without(sizeof(header)), header.tag, header.engine);
        set_owner(header);
      },
      set_announced,
      [&](const rts_open_header& header) { set_announced(header.announced()); },
      [&](const taken_header& header) { set(wire_form::taken, 0, 0, header.sender_ticket); },
      [&](const rtr_header& header) {
        set(wire_form::ready_to_receive, 0, 0,
            pair_of(header.sender_ticket, header.receiver_ticket));
      },
      [&](const reject_header& header) { set(wire_form::reject, 0, 0, header.sender_ticket); },
      [&](const fin_header& header) { set(wire_form::finish, 0, 0, header.receiver_ticket); },
      [&](const remote_completion_header& header) {
        set(wire_form::rma_completion, 0, header.tag, header.rcomp);
      },
      [&](const signal_event& event) {
        set(wire_form::rma_event, 0, 0, pair_of(event.signal, event.part));
      },
      [&](const atomic_header& header) { set(wire_form::other, header.size, 0, imm); },
      [&](const atomic_reply_header&) { set(wire_form::other, 0, 0, imm); }};
  // A message of the net_* operations may look like one with a header, and be too short for it.
  if (!visit_header(imm, bytes, known, describe_header)) set(wire_form::other, size, 0, imm);
}

void recording_network::describe_put(net_imm_data_t imm, net_imm_data_t high, event* out) const {
  // As in wire.h: neither of the two upper bits is set in the end of a rendezvous.
  const bool ends = has_wide_imm_ && !is_short(imm) && (imm >> ticket_bits) == 0;
  out->form = ends ? wire_form::put_end : wire_form::put_notify;
  out->detail = pair_of(imm, limits_.put_imm_bits == 64 ? high : 0);
}

// Operations of this rank.

void recording_network::answered(event* posted, error_t result) {
  posted->duration = since(posted->time);
  if (result.is_posted()) {
    posted->flags |= event::posted;
  } else if (result.errorcode == errorcode_t::fatal) {
    posted->kind = event_kind::refused;
    posted->flags |= event::failed;
  } else if (!result.is_done()) {
    return;  // it will be tried again
  }
  if (posted->kind == event_kind::post) {
    const bool is_message = posted->form != wire_form::put && posted->form != wire_form::get;
    if (notifies(posted->form)) {
      posted->sequence = counts_of(posted->peer).put.fetch_add(1, std::memory_order_relaxed);
    } else if (is_message) {
      posted->sequence = counts_of(posted->peer).sent.fetch_add(1, std::memory_order_relaxed);
    }
  }
  where_.to.add(*posted);
}

event recording_network::describe(const net::op& operation) {
  event posted = make(event_kind::post, observe::recorder::now(), operation.rank);
  switch (operation.kind) {
    case net::op_kind::send:
      if (operation.header_size > 0) {
        describe_message(operation.imm, operation.header, operation.header_size,
                         operation.header_size + operation.size, &posted);
      } else {
        describe_message(operation.imm, operation.buffer, operation.size, operation.size, &posted);
      }
      break;
    case net::op_kind::put_imm:
      describe_put(operation.imm, operation.imm_high, &posted);
      posted.size = operation.size;
      break;
    case net::op_kind::put:
    case net::op_kind::get:
      posted.form = operation.kind == net::op_kind::put ? wire_form::put : wire_form::get;
      posted.size = operation.size;
      break;
  }
  if (operation.context != nullptr) posted.operation = name_of(operation.context);
  return posted;
}

error_t recording_network::post(const net::op& operation) {
  event posted = describe(operation);
  const error_t result = network_->post(operation);
  answered(&posted, result);
  return result;
}

error_t recording_network::post_short(net::short_op what, net_imm_data_t imm, void* buffer,
                                      size_t size, const net::remote_place* where) {
  event posted = describe(net::make_op(what, imm, buffer, size, where));
  const error_t result = network_->post_short(what, imm, buffer, size, where);
  answered(&posted, result);
  return result;
}

bool recording_network::add(int rank, net::remote_region remote, uint64_t remote_offset,
                            int64_t value) {
  event posted = make(event_kind::post, observe::recorder::now(), rank);
  posted.form = wire_form::remote_add;
  posted.size = sizeof(value);
  posted.detail = static_cast<uint64_t>(value);
  if (!network_->add(rank, remote, remote_offset, value)) return false;
  posted.duration = since(posted.time);
  where_.to.add(posted);
  return true;
}

// Completions that progress finds.

void recording_network::describe(const net::completion& found, event* out) {
  switch (found.kind) {
    case net::completion_kind::recv:
      out->kind = event_kind::arrival;
      out->peer = found.rank;
      describe_message(found.imm, found.bytes(), found.size, found.size, out);
      out->sequence = counts_of(found.rank).arrived.fetch_add(1, std::memory_order_relaxed);
      return;
    case net::completion_kind::remote_put:
      out->kind = event_kind::notification;
      out->peer = found.rank;
      describe_put(found.imm, found.imm_high, out);
      out->sequence = counts_of(found.rank).notified.fetch_add(1, std::memory_order_relaxed);
      return;
    case net::completion_kind::peer_failed:
      out->kind = event_kind::peer_lost;
      out->peer = found.rank;
      return;
    case net::completion_kind::send:
    case net::completion_kind::put:
    case net::completion_kind::get:
      out->kind = event_kind::completion;
      out->form = found.kind == net::completion_kind::put   ? wire_form::put
                  : found.kind == net::completion_kind::get ? wire_form::get
                                                            : wire_form::other;
      if (found.failed) out->flags |= event::failed;
      if (found.context != nullptr) out->operation = name_of(found.context);
      return;
  }
}

error_t recording_network::poll(net::completion* out, size_t max, size_t* count) {
  const uint64_t begin = observe::recorder::now();
  const error_t result = network_->poll(out, max, count);
  if (*count == 0) return result;
  event polled = make(event_kind::poll, begin, event::no_peer);
  polled.duration = since(begin);
  polled.detail = *count;
  where_.to.add(polled);
  for (size_t i = 0; i < *count; ++i) {
    event found = make(event_kind::none, begin + polled.duration, event::no_peer);
    describe(out[i], &found);
    where_.to.add(found);
  }
  return result;
}

}  // namespace lci::rt
