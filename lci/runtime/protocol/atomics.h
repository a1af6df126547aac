// Atomic operations of the program on integers of other ranks.
//
//   initiator                             target
//     atomic(address, key, ticket)  ->      checks the address, and operates
//                                   <-    atomic_reply(ticket, former value)
//     signals
//     signal (if it notifies)       ->    signals
//
// Where the initiator maps the integer's memory, or is itself the target, it operates without a
// message. Every operation is one of a processor, so the two ways are atomic with respect to each
// other. A ticket is as in rendezvous.h, and of atomics alone.
#ifndef LCI_RUNTIME_PROTOCOL_ATOMICS_H_
#define LCI_RUNTIME_PROTOCOL_ATOMICS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "lci/api/atomic.hpp"
#include "lci/ds/object_pool.h"
#include "lci/ds/ticket_table.h"
#include "lci/runtime/core/wire.h"
#include "lci/runtime/protocol/backlog.h"
#include "lci/runtime/protocol/operation.h"

namespace lci::rt {

class protocol_host;

// The change to the integer of an operation: the one of operation::size bytes at `address` of the
// target, and in operation::remote.
struct atomic_request {
  atomic_op_t op = atomic_op_t::add;
  uint64_t address = 0;
  atomic_operands operands{};
};

// Those of one device.
//
// A state is in the table while it waits for the target. The reply, or the target's failure, takes
// the state out and owns it from then on.
//
// Thread safety: every member by any thread at any time; none blocks, but for the registration or
// use of memory by another thread.
class atomics {
 public:
  explicit atomics(protocol_host& host) : host_(host) {}

  // Lowers the number of operations that wait for their targets at a time. Before the first one.
  void set_limit(uint32_t tickets) { waiting_.set_limit(tickets); }

  // Starts an operation. Its buffer (null: it does not fetch) receives the former value, and its
  // rcomp (0: none) is signaled with its tag when it is over.
  //   done    it is over
  //   posted  its comp (may be null) will be signaled
  //   retry   nothing happened; not if `may_wait` (in the backlog)
  //   fatal   the target is gone, or it is this rank and the memory is not open
  error_t start(const operation& started, const atomic_request& request, bool may_wait);

  // Handle the messages that progress finds.
  void on_request(int rank, const atomic_header& header, const void* operands, size_t size);
  void on_reply(int rank, const atomic_reply_header& header);

  // Ends every operation that waits for a rank that is gone.
  void fail_peer(int rank);

  // No operation waits for its target.
  bool idle() const { return open_.load(std::memory_order_acquire) == 0; }
  size_t open() const { return static_cast<size_t>(open_.load(std::memory_order_relaxed)); }

 private:
  struct state final : postponed {
    atomics* of = nullptr;
    operation whole;
    atomic_request request;
    bool try_begin(protocol_host& host) override;
  };

  // Operates without a message; false if that is not possible.
  bool try_locally(const operation& started, const atomic_request& request);
  // Sends the request: posted or posted_backlog. Answers retry_nomem, and has done nothing, if no
  // ticket is free; another retry code or fatal as start(). The state is the caller's then.
  error_t send(state* waiting, bool may_wait);
  void finish(state* finished, errorcode_t code);

  protocol_host& host_;
  std::atomic<int64_t> open_{0};
  ds::object_pool<state> states_;
  ds::ticket_table<state, ticket_bits> waiting_;
};

}  // namespace lci::rt

#endif  // LCI_RUNTIME_PROTOCOL_ATOMICS_H_
