#include "lci/runtime/protocol/eager.h"

#include <cstring>

#include "lci/base/log.h"
#include "lci/runtime/device.h"
#include "lci/runtime/protocol/control.h"
#include "lci/runtime/runtime.h"
#include "lci/runtime/wire.h"

namespace lci::rt {

bool eager::is_short_am(const message& outgoing) const {
  return outgoing.rcomp != 0 && device_.runtime.imm().fits(outgoing.tag, outgoing.rcomp);
}

bool eager::is_short_tagged(const message& outgoing) const {
  return outgoing.rcomp == 0 && outgoing.tag <= max_short_tag &&
         outgoing.engine->id == default_engine && !outgoing.collective &&
         outgoing.policy == matching_policy_t::rank_tag;
}

size_t eager::header_size(const message& outgoing) const {
  if (is_short_am(outgoing) || is_short_tagged(outgoing)) return 0;
  return outgoing.rcomp != 0 ? sizeof(am_header) : sizeof(tagged_header);
}

// Calls use(immediate data, header, its bytes), which live only as long as the call.
template <class Use>
error_t eager::with_header(const message& outgoing, const Use& use) const {
  if (is_short_am(outgoing)) {
    return use(device_.runtime.imm().encode(outgoing.tag, outgoing.rcomp), nullptr, size_t{0});
  }
  if (outgoing.rcomp != 0) {
    const am_header header{outgoing.tag, outgoing.rcomp, 0};
    return use(encode(message_kind::am), &header, sizeof(header));
  }
  if (is_short_tagged(outgoing)) {
    return use(encode_short_tagged(outgoing.tag), nullptr, size_t{0});
  }
  const tagged_header header = make_match_header(outgoing);
  return use(encode(message_kind::tagged), &header, sizeof(header));
}

// ---- inject
// ---------------------------------------------------------------------------------------

error_t eager::inject(const message& outgoing, bool may_wait) {
  return with_header(outgoing,
                     [&](net_imm_data_t imm, const void* header, size_t header_size) -> error_t {
                       net::op op;
                       op.kind = net::op_kind::send;
                       op.inject = true;
                       op.rank = outgoing.rank;
                       op.imm = imm;
                       op.header = header;
                       op.header_size = static_cast<uint8_t>(header_size);
                       op.buffer = outgoing.buffer;
                       op.size = outgoing.size;
                       const error_t result = device_.net->post(op);
                       if (__builtin_expect(result.is_done(), 1)) {
                         outgoing.release();
                         return result;
                       }
                       if (!result.is_retry() || !may_wait) return result;
                       waiting_state* state = waiting_pool_.make();
                       state->outgoing = outgoing;
                       device_.backlog.push(op, state);
                       return errorcode_t::posted_backlog;
                     });
}

void eager::waiting_state::completed(device_impl_t& device, errorcode_t code) {
  const message sent = outgoing;
  device.eager.waiting_pool_.recycle(this);
  sent.signal(code == errorcode_t::done ? errorcode_t::done_backlog : code);
}

// ---- from a packet
// ----------------------------------------------------------------------------------

error_t eager::send_from_packet(const message& outgoing, bool copy, bool may_wait) {
  packet* from = outgoing.user_packet;
  if (copy) {
    from = device_.packets().get();
    if (from == nullptr) return errorcode_t::retry_nopacket;
    if (outgoing.size > 0) std::memcpy(from->payload(), outgoing.buffer, outgoing.size);
  }
  packet_state* state = packet_pool_.make();
  state->outgoing = outgoing;
  state->copy = copy ? from : nullptr;
  // A message that was copied is complete for the program as soon as the network has the copy.
  const bool complete_at_once = copy && !outgoing.network_semantic;
  state->signals = !complete_at_once;
  open_.fetch_add(1, std::memory_order_relaxed);
  const auto forget = [&] {
    packet_pool_.recycle(state);
    open_.fetch_sub(1, std::memory_order_release);
  };

  error_t result;
  try {
    result = with_header(
        outgoing, [&](net_imm_data_t imm, const void* header, size_t header_size) -> error_t {
          unsigned char* begin = from->header(header_size);
          if (header_size > 0) std::memcpy(begin, header, header_size);
          net::op op;
          op.kind = net::op_kind::send;
          op.rank = outgoing.rank;
          op.imm = imm;
          op.buffer = begin;
          op.size = header_size + outgoing.size;
          op.local = device_.region_of(*from);
          op.context = static_cast<continuation*>(state);
          const error_t posted = device_.net->post(op);
          if (!posted.is_retry() || !may_wait) return posted;
          device_.backlog.push(op, state);
          return errorcode_t::posted_backlog;
        });
  } catch (...) {
    forget();
    if (copy) from->put();
    throw;
  }
  if (result.is_posted()) return complete_at_once ? error_t(errorcode_t::done) : result;
  forget();
  if (copy) from->put();
  if (result.is_done()) outgoing.release();
  return result;
}

void eager::packet_state::completed(device_impl_t& device, errorcode_t code) {
  const message sent = outgoing;
  packet* const used = copy;
  const bool told = signals;
  device.eager.packet_pool_.recycle(this);
  device.eager.open_.fetch_sub(1, std::memory_order_release);
  if (used != nullptr) used->put();
  if (told) {
    sent.signal(code);
  } else if (code == errorcode_t::fatal) {
    LCI_LOG(warn, "a message of ", sent.size, " bytes to rank ", sent.rank,
            " was lost with that rank");
  }
}

// ---- receiver
// ---------------------------------------------------------------------------------------

void eager::on_am(int rank, tag_t tag, rcomp_t rcomp, const void* bytes, size_t size) {
  comp_impl_t* comp = device_.runtime.find_rcomp(rcomp, rank);
  status_t status(errorcode_t::done);
  status.rank = rank;
  status.tag = tag;
  status.size = size;
  status.buffer = device_.allocate_for_am(*comp, size, rank);
  if (size > 0) std::memcpy(status.buffer, bytes, size);
  comp->signal(status);
}

}  // namespace lci::rt
