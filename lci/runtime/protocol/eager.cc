#include "lci/runtime/protocol/eager.h"

#include <cstring>

#include "lci/api/comp.hpp"
#include "lci/base/copy.h"
#include "lci/base/log.h"
#include "lci/runtime/completion/impl.h"
#include "lci/runtime/protocol/envelope.h"
#include "lci/runtime/protocol/host.h"

namespace lci::rt {

// Inject.

error_t eager::inject(const operation& outgoing, const envelope& with, bool may_wait) {
  const net::op op = inject_op(outgoing.rank, with, outgoing.buffer, outgoing.size);
  const error_t result = host_.net->post(op);
  if (__builtin_expect(result.is_done(), 1)) {
    outgoing.release();
    return result;
  }
  if (!result.is_retry() || !may_wait) return result;
  waiting_state* state = waiting_pool_.make();
  state->of = this;
  state->outgoing = outgoing;
  host_.backlog.push(op, state, result);
  return errorcode_t::posted_backlog;
}

void eager::waiting_state::completed(protocol_host&, errorcode_t code) {
  const operation sent = outgoing;
  of->waiting_pool_.recycle(this);
  sent.signal(code == errorcode_t::done ? errorcode_t::done_backlog : code);
}

// From a packet.

error_t eager::send_from_packet(const operation& outgoing, const envelope& with, bool copy,
                                bool may_wait) {
  packet* from = outgoing.user_packet;
  if (copy) {
    from = host_.packets().get();
    if (from == nullptr) return errorcode_t::retry_nopacket;
    if (outgoing.size > 0) base::copy_data(from->payload(), outgoing.buffer, outgoing.size);
  }
  packet_state* state = packet_pool_.make();
  state->of = this;
  state->outgoing = outgoing;
  state->copy = copy ? from : nullptr;
  // A message that was copied is complete for the program as soon as the network has the copy.
  const bool completes_immediately = copy && !outgoing.network_semantic;
  state->signals = !completes_immediately;
  open_.fetch_add(1, std::memory_order_relaxed);
  const auto forget = [&] {
    packet_pool_.recycle(state);
    open_.fetch_sub(1, std::memory_order_release);
  };

  error_t result;
  try {
    unsigned char* begin = from->header(with.header_size);
    if (with.header_size > 0) std::memcpy(begin, with.header, with.header_size);
    net::op op;
    op.kind = net::op_kind::send;
    op.network_semantic = outgoing.network_semantic;
    op.rank = outgoing.rank;
    op.imm = with.imm;
    op.buffer = begin;
    op.size = with.header_size + outgoing.size;
    op.local = host_.region_of(*from);
    op.context = static_cast<continuation*>(state);
    result = host_.net->post(op);
    if (result.is_retry() && may_wait) {
      host_.backlog.push(op, state, result);
      result = errorcode_t::posted_backlog;
    }
  } catch (...) {
    forget();
    if (copy) from->put();
    throw;
  }
  if (result.is_posted()) return completes_immediately ? error_t(errorcode_t::done) : result;
  forget();
  if (copy) from->put();
  if (result.is_done()) outgoing.release();
  return result;
}

void eager::packet_state::completed(protocol_host&, errorcode_t code) {
  const operation sent = outgoing;
  packet* const used = copy;
  const bool signals_sender = signals;
  eager& owner = *of;
  owner.packet_pool_.recycle(this);
  owner.open_.fetch_sub(1, std::memory_order_release);
  if (used != nullptr) used->put();
  if (signals_sender) {
    sent.signal(code);
  } else if (code == errorcode_t::fatal) {
    LCI_LOG(warn, "a message of ", sent.size, " bytes to rank ", sent.rank,
            " was lost with that rank");
  }
}

// Receiver.

void eager::on_am(comp_impl_t& comp, int rank, tag_t tag, const void* bytes, size_t size) {
  void* const buffer = host_.allocate_for_am(comp, size, rank);
  base::copy_bytes(buffer, bytes, size);
  signal_registered(
      comp, [=]() __attribute__((always_inline)) {
        return make_status(errorcode_t::done, rank, buffer, size, tag, nullptr);
      });
}

}  // namespace lci::rt
