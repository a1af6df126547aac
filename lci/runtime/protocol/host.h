#ifndef LCI_RUNTIME_PROTOCOL_HOST_H_
#define LCI_RUNTIME_PROTOCOL_HOST_H_

#include <cstddef>
#include <memory>

#include "lci/api/attr.hpp"
#include "lci/api/types.hpp"
#include "lci/base/status.h"
#include "lci/net/backend.h"
#include "lci/runtime/completion/impl.h"
#include "lci/runtime/core/rank_state.h"
#include "lci/runtime/core/wire.h"
#include "lci/runtime/protocol/backlog.h"
#include "lci/runtime/protocol/choose.h"
#include "lci/runtime/protocol/operation.h"
#include "lci/runtime/resources/net_context.h"
#include "lci/runtime/resources/packet.h"
#include "lci/runtime/resources/registrations.h"

namespace lci::rt {

// The interface of a device for its protocols: they submit operations to the network, register
// buffers, take packets and memory, and find what a message names (rank_state). device_impl_t is
// the host that also makes progress.
//
// Thread safety: every member by any thread at any time; none blocks.
class protocol_host {
 public:
  protocol_host(net_context_impl_t& context, packet_pool_impl_t& packets,
                const device_attr_t& attributes, std::unique_ptr<net::device> network);
  protocol_host(const protocol_host&) = delete;
  protocol_host& operator=(const protocol_host&) = delete;

  // One post. When it is over at once (done, fatal), `then` (may be null) has been called on
  // return; after posted it will be; after retry nothing happened.
  error_t try_submit(net::op operation, continuation* then);
  // Variant for a caller that cannot retry: operations that the network refuses go to the backlog.
  void submit(const net::op& operation, continuation* then);

  message_limits limits(int rank) const {
    const net::device_limits& there = net->limits(rank);
    return {there.max_inject, there.max_send, packet_size_};
  }
  // Of one put, put_imm or get, besides what the network says.
  size_t max_rma() const { return max_rma_; }
  // A put_imm carries what wire.h has for others than signals.
  bool has_put_imm32() const { return has_put_imm32_; }
  const signal_layout& signals() const { return signals_; }
  // Signals are added to by the rank that puts (support level 4).
  bool has_remote_add() const { return has_remote_add_; }
  net::context& network() { return *context.net; }
  // Whether that rank is gone, although progress() may not have said so yet. For errors.
  bool is_gone(int rank) const { return state.has_failed(rank) || net->has_died(rank); }
  packet_pool_impl_t& packets() { return packets_; }

  // The registration of a packet, if the network wants one.
  net::local_region region_of(const packet& packet);
  // A registration of a buffer for as long as an operation uses it. Where the network wants none,
  // peers do: then it is a new one each time, which costs no more than a look-up.
  base::StatusOr<registrations::use> register_for_use(void* buffer, size_t size);
  void end_use(const registrations::use& finished);

  // Memory for an active message from `sender` that is copied: of the runtime's allocator, or a
  // packet if that is what `comp` wants. Throws std::runtime_error if there is none.
  void* allocate_for_am(const comp_impl_t& comp, size_t size, int sender) {
    return comp.attr.zero_copy_am ? packet_for_am(size, sender)->payload()
                                  : state.allocate(size, sender);
  }
  // The same for an announced active message, also one that will be lent: sets buffer, in_packet,
  // and local if the memory is registered.
  void find_room_for_am(operation* incoming);
  // Frees what find_room_for_am found. `may_be_written`: by a rank that counts as failed.
  void free_of_am(const operation& incoming, bool may_be_written);

  rank_state& state;
  net_context_impl_t& context;
  const device_attr_t attr;
  const std::unique_ptr<net::device> net;
  rt::backlog backlog;

 private:
  packet* packet_for_am(size_t size, int sender);

  packet_pool_impl_t& packets_;
  packet_regions* packets_regions_ = nullptr;  // of packets_; null: needs none
  const size_t packet_size_;
  const size_t max_rma_;
  const bool has_put_imm32_;
  const bool has_remote_add_;
  const signal_layout signals_;
};

}  // namespace lci::rt

#endif  // LCI_RUNTIME_PROTOCOL_HOST_H_
