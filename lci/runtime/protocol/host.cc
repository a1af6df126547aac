#include "lci/runtime/protocol/host.h"

#include <algorithm>
#include <new>
#include <utility>

#include "lci/base/strings.h"

namespace lci::rt {
namespace {

// The bits that a put_imm carries.
int bits_of(const net::device_limits& limits) {
  return limits.has_put_imm ? limits.put_imm_bits : 0;
}

// The attributes, limited by the network (UNR paper, Table I).
device_attr_t with_signal_limits(device_attr_t attr, const net::device_limits& limits,
                                 int part_bits) {
  const int bits = bits_of(limits);
  if (attr.signal_level < 0) {
    attr.signal_level = limits.has_add ? 4 : bits == 64 ? 3 : bits == 32 ? 2 : bits > 0 ? 1 : 0;
  }
  attr.signal_needs_progress = attr.signal_level < 4 || !limits.has_add;
  const signal_layout layout(bits, attr.signal_level, part_bits);
  // By message, or added to by the sender: as many as there are numbers.
  const bool unlimited = attr.signal_level == 0 || !attr.signal_needs_progress;
  constexpr uint64_t most = ~uint32_t{0};
  attr.max_signals = unlimited ? most : layout.max_signal();
  attr.max_signal_parts = unlimited || attr.signal_level >= 3 ? most
                          : attr.signal_level == 1            ? 1
                                                   : std::max<uint64_t>(layout.max_part(), 1);
  return attr;
}

}  // namespace

protocol_host::protocol_host(net_context_impl_t& owner, packet_pool_impl_t& packets,
                             const device_attr_t& attributes, std::unique_ptr<net::device> network)
    : state(owner.state),
      context(owner),
      attr(with_signal_limits(attributes, network->limits(),
                              owner.state.attr().imm_nbits_signal_part)),
      net(std::move(network)),
      packets_(packets),
      packet_size_(packets.attr.packet_size),
      max_rma_(owner.attr.max_msg_size),
      has_put_imm32_(bits_of(net->limits()) >= 32),
      has_remote_add_(!attr.signal_needs_progress),
      signals_(bits_of(net->limits()), attr.signal_level,
               owner.state.attr().imm_nbits_signal_part) {
  if (net->limits().needs_registration) packets_regions_ = &packets_.regions(context);
}

error_t protocol_host::try_submit(net::op operation, continuation* then) {
  operation.context = then;
  const error_t result = net->post(operation);
  if (then != nullptr && (result.is_done() || result.errorcode == errorcode_t::fatal)) {
    then->completed(*this, result.errorcode);
  }
  return result;
}

void protocol_host::submit(const net::op& operation, continuation* then) {
  const error_t result = try_submit(operation, then);
  if (result.is_retry()) backlog.push(operation, then, result);
}

net::local_region protocol_host::region_of(const packet& packet) {
  if (packets_regions_ == nullptr) return {};
  return (packet.pool() == &packets_ ? *packets_regions_ : packet.pool()->regions(context))
      .of(packet);
}

base::StatusOr<registrations::use> protocol_host::register_for_use(void* buffer, size_t size) {
  if (net->limits().needs_registration) return context.registrations.acquire(buffer, size);
  const base::StatusOr<net::local_region> made = network().register_memory(buffer, size);
  if (!made.ok()) return made.status();
  registrations::use result;
  result.local = *made;
  return result;
}

void protocol_host::end_use(const registrations::use& finished) {
  if (finished.found == nullptr) {
    network().deregister_memory(finished.local);
  } else {
    context.registrations.release(finished, attr.use_reg_cache);
  }
}

packet* protocol_host::packet_for_am(size_t size, int sender) {
  try {
    return packets_.get_for(size);
  } catch (const std::bad_alloc&) {
    state.report_no_memory(size, sender);
  }
}

void protocol_host::find_room_for_am(operation* incoming) {
  const comp_attr_t& wanted = incoming->comp->attr;
  // An allocator of the program is asked for each lent message that is too large to come by copy.
  incoming->in_packet =
      wanted.zero_copy_am ||
      (wanted.lend_am &&
       (state.has_default_allocator() || incoming->size <= net->limits(incoming->rank).max_send));
  if (!incoming->in_packet) {
    incoming->buffer = state.allocate(incoming->size, incoming->rank);
    return;
  }
  packet* const found = packet_for_am(incoming->size, incoming->rank);
  incoming->buffer = found->payload();
  if (!found->is_loose()) return;
  // If that fails, it fails again when the memory is registered for this operation, and is reported.
  const auto region = loose_packets::region_of(*found, network());
  if (region.ok()) incoming->local = *region;
}

void protocol_host::free_of_am(const operation& incoming, bool may_be_written) {
  if (!incoming.in_packet) {
    if (incoming.buffer != nullptr) state.allocator().deallocate(incoming.buffer);
    return;
  }
  packet* const used = packet::of(incoming.buffer);
  if (may_be_written && used->is_loose()) {
    loose_packets::discard(used);
  } else {
    used->put();
  }
}

}  // namespace lci::rt
