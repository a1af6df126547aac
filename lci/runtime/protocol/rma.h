// Puts and gets of the program.
//
//   initiator                        target
//     put, put, ... put_imm    ->    signals (put that notifies; else the last is a put)
//     get, get, ...            <-
//     signal or event          ->    signals (get that notifies)
//
// A put ends like a get where the network has no put_imm, or its bits can't hold the notification.
// The target is signaled when the bytes are in place, or have been read. (SC'25 paper, Table 1; it
// leaves get with signal out, for want of a network that can.)
//
// The notification names a completion object of the target, by `tag` and `rcomp`, or one of its
// signals, by an event. Where the network reaches the signal's counter (UNR paper, support level 4)
// the initiator adds to it when the last put or get is over, and the target need not make progress.
#ifndef LCI_RUNTIME_PROTOCOL_RMA_H_
#define LCI_RUNTIME_PROTOCOL_RMA_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "lci/ds/object_pool.h"
#include "lci/net/op.h"
#include "lci/runtime/core/wire.h"
#include "lci/runtime/protocol/operation.h"
#include "lci/runtime/protocol/pieces.h"
#include "lci/runtime/resources/registrations.h"

namespace lci::rt {

class protocol_host;

// A signal of the target, and the event that it receives.
struct remote_signal : signal_event {
  int event_bits = 0;
  net::remote_region counter;  // where its counter is; empty: out of reach
  uint64_t counter_offset = 0;
};

// Returns whether the network can notify the target of a put. If so, sets the immediate data of
// *put.
bool notifies(const protocol_host& host, operation* put, const remote_signal& signal);
// Notifies the target after a completed operation if the network cannot: sends a message or adds to
// the signal's counter. Does nothing if the target is not to be notified.
void notify_target(protocol_host& host, const operation& finished, const remote_signal& signal);

// A put or get under way, with the notification of its target: a completion object by the
// operation's tag and rcomp (0: none), or a signal.
class rma_transfer : public pieces {
 public:
  remote_signal signal;  // its number 0: none

  // pieces::start(). If it returns done, the target has been notified.
  error_t start(protocol_host& host, bool may_wait);

 protected:
  ~rma_transfer() = default;
  // As pieces::finished. If `code` is done, the target has been notified.
  virtual void transfer_ended(protocol_host& host, errorcode_t code) = 0;

 private:
  void notify_target(protocol_host& host) const;
  void finished(protocol_host& host, errorcode_t code) final;
};

// Those of one device.
//
// Thread safety: every member by any thread at any time; none blocks.
class rma {
 public:
  explicit rma(protocol_host& host) : host_(host) {}

  // Starts a put or get. The target is notified by its tag and rcomp, if that is not 0, or by
  // `signal`, if that names one. Changes only immediate data of `started`.
  //   done    the buffer is the caller's again
  //   posted  its comp (may be null) will be signaled
  //   retry   nothing happened; not if `may_wait` (in the backlog)
  //   fatal   the peer is gone, or its memory not accessible
  // Throws if the buffer can't be registered.
  error_t start(operation& started, bool may_wait, const remote_signal& signal = {});

  // Returns whether a put or get of this size with this registration (or none) is complete as soon
  // as the network accepts it.
  bool completes_immediately(int rank, size_t size, net::local_region local) const;

  // Handles the message that an initiator's operation with a signal has completed. Throws
  // std::runtime_error if there is no such signal.
  void on_event(int rank, const signal_event& event);

  // Called around a transfer of another part: not idle from opened() to closed().
  void opened() { open_.fetch_add(1, std::memory_order_relaxed); }
  void closed() { open_.fetch_sub(1, std::memory_order_release); }
  bool idle() const { return open_.load(std::memory_order_acquire) == 0; }
  size_t open() const { return static_cast<size_t>(open_.load(std::memory_order_relaxed)); }

 private:
  struct state final : rma_transfer {
    rma* of = nullptr;
    bool registered = false;  // the local region is that of `use`
    registrations::use use;
    void transfer_ended(protocol_host& host, errorcode_t code) override;
  };
  error_t start_short(operation& started, const remote_signal& signal);
  // Recycles the state.
  void end(state* finished);

  protocol_host& host_;
  std::atomic<int64_t> open_{0};
  ds::object_pool<state> states_;
};

}  // namespace lci::rt

#endif  // LCI_RUNTIME_PROTOCOL_RMA_H_
