// Messages that are too large to be sent by copy. The conversation, both sides:
//
//   sender                          receiver
//     rts(tag, size, ticket)  ->
//                                   finds room: the matching receive's buffer, or for an active
//                                   message the runtime's allocator or a packet; registers it
//                             <-    rtr(region, both tickets)   or   reject(ticket)
//     put, put, ...           ->
//     put_imm(its ticket)     ->    signals, with all bytes in place
//     signals
//
// Without put_imm (the network has none, or rdv_protocol is write) the last line but one is a put,
// and
//     fin(its ticket)         ->    when it is complete.
// After a put that fails
//     fin(its ticket, failed) ->    signals `fatal`
//     signals `fatal`
//
// Where the network says that it is faster (net::device::is_got_sooner), the receiver gets the bytes
// from the sender's memory, which neither of them registers:
//
//   sender                          receiver
//     rts_open(tag, size, ticket,
//              address)       ->
//                                   finds room; reads the bytes
//                             <-    taken(ticket)   or   reject(ticket)
//     signals                       signals
//
// If no receive waits for such a message, and it is not too large to come by copy, the receiver
// keeps a copy at once. So the sender completes without the receive, as if it had sent by copy.
//
// (SC'25 paper, section 5.3: zero copy.) A ticket names the state of a conversation on the rank
// that gave it. One that names nothing, or another rank's conversation, is reported and dropped.
// A device has 2^20 tickets for the messages that it sends, and as many for those that it receives.
// When all are in use, a post answers retry, or the conversation waits in the backlog; what has
// been announced to this rank always waits.
#ifndef LCI_RUNTIME_PROTOCOL_RENDEZVOUS_H_
#define LCI_RUNTIME_PROTOCOL_RENDEZVOUS_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "lci/ds/object_pool.h"
#include "lci/ds/ticket_table.h"
#include "lci/net/op.h"
#include "lci/observe/rank_report.h"
#include "lci/runtime/core/wire.h"
#include "lci/runtime/protocol/backlog.h"
#include "lci/runtime/protocol/operation.h"
#include "lci/runtime/protocol/pieces.h"
#include "lci/runtime/resources/registrations.h"

namespace lci::rt {

class protocol_host;

// A message that a peer has announced.
struct announcement {
  int rank = -1;
  tag_t tag = 0;
  size_t size = 0;  // bytes
  uint32_t sender_ticket = 0;
  matching_policy_t policy = matching_policy_t::rank_tag;
  bool collective = false;
  uint64_t address = 0;  // of the bytes at the sender, if the receiver is to get them

  bool is_open() const { return address != 0; }
  matching_key key() const { return {tag, rank, policy, collective}; }
};

// The conversations of one device.
//
// A state is in its table while it waits for the peer. The thread that takes it out (for a message
// of the peer, or the peer's failure) owns it from then on, so nothing happens to it twice.
//
// Thread safety: every member by any thread at any time; none blocks.
class rendezvous {
 public:
  explicit rendezvous(protocol_host& host) : host_(host) {}

  // Lowers the number of tickets of either kind. Before the first conversation.
  void set_limit(uint32_t tickets) {
    outgoing_.set_limit(tickets);
    incoming_.set_limit(tickets);
  }

  // Sender: whether the receiver should get the bytes, which start() then names to it.
  bool opens(const operation& outgoing) const {
    return __builtin_expect(outgoing.size >= smallest_open, 0) && is_opened(outgoing);
  }
  // Sender: begins to send; the message's completion object will be signaled, with `fatal` if the
  // receiver can't take it. Answers a retry code, and has done nothing, when the announcement can't
  // leave now, or no ticket is free, and it may not wait in the backlog; `fatal` when the peer is
  // gone. Throws if the buffer can't be registered.
  error_t start(const operation& outgoing, bool opens, bool may_wait);

  // Receiver: takes an announced message into incoming.buffer (incoming.size: the size announced),
  // then signals incoming.comp. Throws if the buffer can't be registered, after rejecting the
  // message.
  void accept(const announcement& announced, const operation& incoming);
  // Receiver: copies the bytes of an open message that no receive waits for, and notifies the
  // sender that they are taken. Null, and has done nothing, if the message is too large for that or
  // the bytes can't be read.
  packet* take_early(const announcement& announced);
  // Receiver: the message can't be taken. The sender's operation ends with `fatal`.
  void reject(const announcement& announced);

  // Handle the messages that progress finds. on_am_announced throws std::runtime_error, after
  // rejecting the message, if there is no such completion object or no memory.
  void on_am_announced(const announcement& announced, rcomp_t rcomp);
  void on_rtr(int rank, const rtr_header& header);
  void on_reject(int rank, const reject_header& header);
  void on_taken(int rank, uint32_t sender_ticket);
  void on_end(int rank, uint32_t receiver_ticket, bool failed);

  // Ends every conversation that waits for a rank that is gone, and those of collectives with any
  // rank: these need all ranks, and a rank that has noticed the failure does not continue.
  void fail_peer(int rank);

  size_t open() const { return static_cast<size_t>(open_.load(std::memory_order_relaxed)); }
  // Adds those that wait for a peer.
  void describe(observe::rank_report* report, uint64_t device);

  // No conversation is open.
  bool idle() const { return open_.load(std::memory_order_acquire) == 0; }

 private:
  struct outgoing_state final : pieces, postponed {
    rendezvous* of = nullptr;
    bool registered = false;  // the local region is that of `use`
    registrations::use use;
    bool opens = false;  // the receiver gets the bytes
    // If the message was alone when it was announced.
    std::optional<std::chrono::steady_clock::time_point> announced;
    uint32_t receiver_ticket = 0;
    void finished(protocol_host& host, errorcode_t code) override;
    bool try_begin(protocol_host& host) override;
  };
  struct incoming_state final : postponed {
    rendezvous* of = nullptr;
    operation whole;
    uint32_t sender_ticket = 0;
    registrations::use use;   // of the program's registration, or
    bool registered = false;  // to be ended by us
    bool try_begin(protocol_host& host) override;
  };

  // Bytes of a message that is_opened() may be true for, at least and at most.
  static constexpr size_t smallest_open = 4096;
  static constexpr size_t largest_open = UINT32_MAX;  // rts_open_header
  // Whether the network may choose who copies it.
  bool may_open(const operation& outgoing) const;
  bool is_opened(const operation& outgoing) const;

  // In the tables: the other rank, collectives apart.
  int owner_of(const operation& m) const;
  template <class Table>
  auto* take(Table* table, uint32_t ticket, int rank);
  bool last_put_notifies() const;
  // Its peer is gone, or a rank that its collective needs.
  bool is_lost(const operation& m) const;
  // Sends the announcement: posted or posted_backlog. Answers retry_nomem, and has done nothing, if
  // no ticket is free; another retry code or fatal as start(). The state is the caller's then.
  error_t announce(outgoing_state* state, bool may_wait);
  template <class Header>
  error_t announce_as(outgoing_state* state, message_kind kind, Header header, bool may_wait);
  // Gets the bytes of an open message, and ends it.
  void get(const announcement& announced, const operation& incoming);
  bool read(const announcement& announced, void* to);
  // Makes the state of an announced message, and registers its buffer. Throws if it can't be
  // registered, after rejecting the message.
  incoming_state* prepare(const announcement& announced, const operation& incoming);
  // Answers an announcement. False, and has done nothing, if no ticket is free.
  bool answer(incoming_state* state);
  void finish(outgoing_state* state, errorcode_t code);
  void finish(incoming_state* state, errorcode_t code);
  void end(const operation& incoming, errorcode_t code);

  protocol_host& host_;
  std::atomic<int64_t> open_{0};
  ds::object_pool<outgoing_state> outgoing_pool_;
  ds::object_pool<incoming_state> incoming_pool_;
  ds::ticket_table<outgoing_state, ticket_bits> outgoing_;
  ds::ticket_table<incoming_state, ticket_bits> incoming_;
};

}  // namespace lci::rt

#endif  // LCI_RUNTIME_PROTOCOL_RENDEZVOUS_H_
