#include "lci/runtime/device/traffic.h"

#include <algorithm>

#include "lci/runtime/core/wire.h"

namespace lci::rt {

traffic::peer& traffic::peer_of(place& own, int rank) {
  const auto number = static_cast<size_t>(rank);
  std::atomic<page*>& slot = own.peers[number / page_ranks];
  page* found = slot.load(std::memory_order_relaxed);
  if (__builtin_expect(found == nullptr, 0)) {
    found = new page();
    // Pairs with the acquire in read.
    slot.store(found, std::memory_order_release);
  }
  return (*found)[number % page_ranks];
}

void traffic::moved(place& own, const direction& way, kind what, int rank, uint64_t bytes) {
  add(&own.by_kind[what], bytes);
  add(&(peer_of(own, rank).*way.of_peer), bytes);
}

void traffic::message(place& own, const direction& way, int rank, net_imm_data_t imm,
                      const void* bytes, size_t known, size_t size) {
  if (is_short(imm)) return moved(own, way, way.am, rank, size);
  if (is_short_tagged(imm)) return moved(own, way, way.tagged, rank, size);
  const auto without = [size](size_t header) { return size - std::min(size, header); };
  const auto announced = [&](auto header) {
    decode(bytes, known, &header);
    moved(own, way, way.large, rank, header.size);
  };
  switch (static_cast<message_kind>(imm)) {
    case message_kind::am:
      return moved(own, way, way.am, rank, without(sizeof(am_header)));
    case message_kind::tagged:
      return moved(own, way, way.tagged, rank, without(sizeof(tagged_header)));
    case message_kind::rts:
      return announced(rts_header{});
    case message_kind::rts_open:
      return announced(rts_open_header{});
    default:
      add(&own.by_event[way.control], 1);
  }
}

void traffic::refused(place& own, error_t result) {
  if (result.errorcode == errorcode_t::fatal) {
    add(&own.by_event[refused_fatal], 1);
  } else if (result.errorcode == errorcode_t::retry_lock) {
    add(&own.by_event[refused_lock], 1);
  } else {
    add(&own.by_event[refused_full], 1);
  }
}

void traffic::posted(const net::op& operation, error_t result) {
  place& own = mine();
  if (!result.is_done() && !result.is_posted()) return refused(own, result);
  switch (operation.kind) {
    case net::op_kind::put:
    case net::op_kind::put_imm:
      // Pieces of a larger message: see rendezvous::on_rtr.
      if (operation.latency_critical) return add(&own.by_kind[rendezvous_put], operation.size);
      return moved(own, sent, kind::put, operation.rank, operation.size);
    case net::op_kind::get:
      return moved(own, received, kind::get, operation.rank, operation.size);
    case net::op_kind::send:
      return message(own, sent, operation.rank, operation.imm, operation.header,
                     operation.header_size, operation.header_size + operation.size);
  }
}

void traffic::polled(const net::completion* found, size_t count, error_t result) {
  place& own = mine();
  add(&own.by_event[event::poll], 1);
  if (count == 0) {
    if (result.errorcode == errorcode_t::retry_lock) {
      add(&own.by_event[busy_poll], 1);
    } else if (!result.is_done()) {
      add(&own.by_event[empty_poll], 1);
    }
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    const net::completion& each = found[i];
    if (each.kind == net::completion_kind::recv) {
      message(own, received, each.rank, each.imm, each.bytes(), each.size, each.size);
    } else if (each.kind == net::completion_kind::remote_put) {
      add(&own.by_event[notified], 1);
    }
  }
}

void traffic::read(device_counters_t* out) const {
  traffic_t* const by_kind[kinds] = {&out->sent_am,
                                     &out->sent_tagged,
                                     &out->sent_large,
                                     &out->puts,
                                     &out->gets,
                                     &out->rendezvous_puts,
                                     &out->rendezvous_gets,
                                     &out->received_am,
                                     &out->received_tagged,
                                     &out->received_large};
  uint64_t* const by_event[events] = {
      &out->control_sent, &out->control_received, &out->notified,
      &out->refused_lock, &out->refused_full,     &out->refused_fatal,
      &out->polls,        &out->empty_polls,      &out->busy_polls};
  const auto add_to = [](traffic_t* to, const amount& from) {
    to->messages += from.messages.load(std::memory_order_relaxed);
    to->bytes += from.bytes.load(std::memory_order_relaxed);
  };
  std::vector<peer_counters_t> peers(pages_ * page_ranks);
  for (size_t number = 0; number < places_.size(); ++number) {
    const place* const each = places_.find(number);
    if (each == nullptr) continue;
    for (size_t k = 0; k < kinds; ++k) add_to(by_kind[k], each->by_kind[k]);
    for (size_t e = 0; e < events; ++e) {
      *by_event[e] += each->by_event[e].load(std::memory_order_relaxed);
    }
    for (size_t p = 0; p < pages_; ++p) {
      const page* const known = each->peers[p].load(std::memory_order_acquire);
      for (size_t r = 0; known != nullptr && r < page_ranks; ++r) {
        add_to(&peers[p * page_ranks + r].sent, (*known)[r].sent);
        add_to(&peers[p * page_ranks + r].received, (*known)[r].received);
      }
    }
  }
  for (size_t rank = 0; rank < peers.size(); ++rank) {
    if (peers[rank].sent.messages == 0 && peers[rank].received.messages == 0) continue;
    peers[rank].rank = static_cast<int>(rank);
    out->peers.push_back(peers[rank]);
  }
}

// A post counts when the network has answered: before, it is not known whether it will be tried
// again. The message may thus have arrived before it counts as sent.

error_t counting_network::post(const net::op& operation) {
  const error_t result = network_->post(operation);
  traffic_.posted(operation, result);
  return result;
}

error_t counting_network::post_short(net::short_op what, net_imm_data_t imm, void* buffer,
                                     size_t size, const net::remote_place* where) {
  const error_t result = network_->post_short(what, imm, buffer, size, where);
  if (result.errorcode != errorcode_t::retry) {  // else it was not short
    traffic_.posted(net::make_op(what, imm, buffer, size, where), result);
  }
  return result;
}

bool counting_network::read_memory(int rank, void* to, uint64_t from, size_t size) {
  const bool is_read = network_->read_memory(rank, to, from, size);
  if (is_read) traffic_.got(size);
  return is_read;
}

error_t counting_network::poll(net::completion* out, size_t max, size_t* count) {
  const error_t result = network_->poll(out, max, count);
  traffic_.polled(out, *count, result);
  return result;
}

}  // namespace lci::rt
